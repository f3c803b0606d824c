// swift-tools-version: 6.0
import PackageDescription

// One program for libFuzzer, built by `.ci/fuzz`. What it runs is compiled into the tests as well: see the symbolic link.
let package = Package(
    name: "Fuzz",
    dependencies: [
        .package(name: "CurlNetworking", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "fuzz",
            dependencies: [.product(name: "CurlNetworking", package: "CurlNetworking")],
            swiftSettings: [.unsafeFlags(["-parse-as-library"])]
        )
    ],
    swiftLanguageModes: [.v6]
)
