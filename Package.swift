// swift-tools-version: 6.0
import PackageDescription

/// Ways of importing the module, each in both language modes. That they compile is what is tested first.
let importShapes: [Target] = [
    ("OnlyOurs", ["CurlNetworking"]), ("BesideReexport", ["CurlNetworking", "Reexporting"]),
    ("BesideStock", ["CurlNetworking"]), ("PublicAPI", ["CurlNetworking", "Reexporting"]), ("StockApp", ["OurLibrary"]),
].flatMap { (shape: String, dependencies: [Target.Dependency]) in
    [("5", SwiftLanguageMode.v5), ("6", .v6)].map { name, mode in
        .target(
            name: shape + name,
            dependencies: dependencies,
            path: "Tests/ImportShapes/\(shape)/Swift\(name)",
            swiftSettings: [.swiftLanguageMode(mode)],
            plugins: ["SharedSources"]
        )
    }
}

/// Programs as somebody would write them for a server; the documentation shows them. The first names are what they are run by.
let examples: [Target] = [
    ("crawler", "Crawler"), ("event-listener", "EventListener"), ("json-client", "JSONClient"), ("mirror", "Mirror"),
    ("multipart-uploader", "MultipartUploader"), ("webhook-dispatcher", "WebhookDispatcher"),
].map { name, folder in
    .executableTarget(
        name: "curlnetworking-\(name)",
        dependencies: ["CurlNetworking", "CurlNetworkingExampleSupport"],
        path: "Tests/Examples/\(folder)"
    )
}

let package = Package(
    name: "CurlNetworking",
    products: [
        .library(name: "CurlNetworking", targets: ["CurlNetworking"]),
        // For programs that keep the stock URLSession.
        .library(name: "CurlURLProtocol", targets: ["CurlURLProtocol"]),
        .executable(name: "halftunes", targets: ["halftunes"]),
        .executable(name: "urlsession-parity", targets: ["urlsession-parity"]),
        .executable(name: "switch-to-curlnetworking", targets: ["switch-to-curlnetworking"]),
    ],
    targets: [
        .systemLibrary(
            name: "CLibcurl",
            path: "Modules/CLibcurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"])]
        ),
        .systemLibrary(name: "CLinux", path: "Modules/CLinux"),
        .target(name: "Locks"),
        .target(name: "Curl", dependencies: ["CLibcurl", "CLinux", "Locks"]),
        .target(name: "CurlNetworking", dependencies: ["Curl", "Locks"]),
        .target(name: "CurlURLProtocol", dependencies: ["CurlNetworking", "Locks"]),
        .target(name: "LoopbackServer", dependencies: ["CLinux"]),
        .executableTarget(name: "halftunes", dependencies: ["CurlNetworking", "LoopbackServer", "Locks"]),
        .executableTarget(name: "switch-to-curlnetworking"),
        .executableTarget(name: "connection-tuning", dependencies: ["CurlNetworking", "LoopbackServer"]),
        // `ParityOurs` and `ParityStock` both compile `Scenarios/Shared`: one text, compiled twice; only the imported module
        // differs.
        .plugin(name: "SharedSources", capability: .buildTool(), path: "Sources/Parity/SharedSources"),
        .target(name: "ParityStage", dependencies: ["LoopbackServer"], path: "Sources/Parity/Stage"),
        .target(
            name: "ParityOurs",
            dependencies: ["CurlNetworking", "LoopbackServer", "ParityStage"],
            path: "Sources/Parity/Scenarios/Ours",
            plugins: ["SharedSources"]
        ),
        .target(
            name: "ParityStock",
            dependencies: ["LoopbackServer", "ParityStage"],
            path: "Sources/Parity/Scenarios/Stock",
            plugins: ["SharedSources"]
        ),
        .executableTarget(
            name: "urlsession-parity",
            dependencies: ["CurlURLProtocol", "ParityOurs", "ParityStage", "ParityStock"]
        ),
        .target(
            name: "TestSupport",
            dependencies: ["Curl", "CurlNetworking", "LoopbackServer", "Locks"],
            path: "Tests/TestSupport"
        ),
        .executableTarget(name: "test-helper", dependencies: ["Curl", "CurlNetworking"], path: "Tests/TestHelper"),
        .executableTarget(name: "soak", dependencies: ["CurlNetworking", "LoopbackServer"], path: "Tests/Soak"),
        .executableTarget(name: "fork-helper", dependencies: ["CurlNetworking"], path: "Tests/ForkHelper"),
        .testTarget(
            name: "LogicTests",
            dependencies: [
                "Curl", "CurlNetworking", "LoopbackServer", "TestSupport", "halftunes", "switch-to-curlnetworking",
            ]
        ),
        .testTarget(
            name: "BehaviourTests",
            dependencies: ["Curl", "CurlNetworking", "LoopbackServer", "Locks", "TestSupport", "test-helper"]
        ),
        .testTarget(
            name: "CrashTests",
            dependencies: ["CurlNetworking", "LoopbackServer", "TestSupport", "fork-helper", "test-helper"]
        ),
        .testTarget(
            name: "ParityTests",
            dependencies: [
                "Curl", "LoopbackServer", "ParityStage", "StockLibrary", "TestSupport", "switch-to-curlnetworking",
                "urlsession-parity",
            ] + importShapes.map { .byName(name: $0.name) }
        ),
        .testTarget(name: "URLProtocolTests", dependencies: ["CurlURLProtocol", "LoopbackServer", "TestSupport"]),
        .target(name: "CurlNetworkingExampleSupport", path: "Tests/Examples/Support"),
        .testTarget(
            name: "ExampleTests",
            dependencies: ["LoopbackServer", "TestSupport"] + examples.map { .byName(name: $0.name) }
        ),
        .target(name: "Reexporting", path: "Tests/ImportShapes/Reexporting"),
        .target(name: "StockLibrary", path: "Tests/ImportShapes/StockLibrary"),
        .target(name: "OurLibrary", dependencies: ["CurlNetworking"], path: "Tests/ImportShapes/OurLibrary"),
    ] + examples + importShapes,
    swiftLanguageModes: [.v6]
)
