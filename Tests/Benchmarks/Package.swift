// swift-tools-version: 6.0
import PackageDescription

// `bench-ours` and `bench-stock` both compile `Sources/Client`: one text, compiled twice; only the imported module
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
            linkerSettings: [.linkedLibrary("curl")]
        ),
        .executableTarget(
            name: "bench-ours",
            dependencies: [.product(name: "CurlNetworking", package: "CurlNetworking")],
            plugins: ["ClientSources"]
        ),
        .executableTarget(name: "bench-stock", plugins: ["ClientSources"]),
        .plugin(name: "ClientSources", capability: .buildTool()),
        .executableTarget(name: "bench", dependencies: ["bench-raw", "bench-ours", "bench-stock"]),
    ],
    swiftLanguageModes: [.v6]
)
