// swift-tools-version: 6.0
import PackageDescription

// `fetch-stock` is `fetch-ours` by a symbolic link: one text, compiled twice; only the imported module differs.
let package = Package(
    name: "Deployment",
    dependencies: [
        .package(name: "CurlNetworking", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "fetch-ours",
            dependencies: [.product(name: "CurlNetworking", package: "CurlNetworking")]
        ),
        .executableTarget(
            name: "background",
            dependencies: [.product(name: "CurlNetworking", package: "CurlNetworking")]
        ),
        .executableTarget(name: "fetch-stock", swiftSettings: [.define("STOCK")]),
        .executableTarget(name: "start-up"),
    ],
    swiftLanguageModes: [.v6]
)
