// swift-tools-version: 6.0
import PackageDescription

// `bench-ours` and `bench-stock` both compile `Sources/Client`, which each has a symbolic link to; only the imported module
// differs. `bench` lists the other three as dependencies so that building it builds all four.
let package = Package(
    name: "Benchmarks",
    dependencies: [
        .package(name: "CurlNetworking", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "bench-raw",
            cSettings: [.define("_GNU_SOURCE")],
            linkerSettings: [.linkedLibrary("curl"), .linkedLibrary("z")]
        ),
        .executableTarget(name: "bench-socket-server", cSettings: [.define("_GNU_SOURCE")]),
        .executableTarget(
            name: "bench-ours",
            dependencies: [.product(name: "CurlNetworking", package: "CurlNetworking")]
        ),
        .executableTarget(name: "bench-stock"),
        .executableTarget(
            name: "bench",
            dependencies: ["bench-raw", "bench-ours", "bench-socket-server", "bench-stock"]
        ),
    ],
    swiftLanguageModes: [.v6]
)
