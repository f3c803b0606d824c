// swift-tools-version: 6.0
import PackageDescription

// Targets that compile the same files have a symbolic link to the folder that holds them: SwiftPM lets no two targets share a
// folder.

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
            swiftSettings: [.swiftLanguageMode(mode)]
        )
    }
}

/// Programs as somebody would write them for a server; the documentation shows them. The first names are what they are run by.
let examples: [Target] = [
    ("chat-client", "ChatClient"), ("crawler", "Crawler"), ("event-listener", "EventListener"),
    ("json-client", "JSONClient"), ("live-ticker", "LiveTicker"), ("mirror", "Mirror"),
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
        .executable(name: "curlnetworking-agent", targets: ["curlnetworking-agent"]),
        .executable(name: "halftunes", targets: ["CurlNetworkingHalfTunes"]),
        .executable(name: "urlsession-parity", targets: ["CurlNetworkingParity"]),
        .executable(name: "switch-to-curlnetworking", targets: ["switch-to-curlnetworking"]),
    ],
    targets: [
        .systemLibrary(
            name: "CCurlNetworkingLibcurl",
            path: "Modules/CCurlNetworkingLibcurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"])]
        ),
        .systemLibrary(name: "CCurlNetworkingLinux", path: "Modules/CCurlNetworkingLinux"),
        .target(name: "CurlNetworkingLocks"),
        .target(
            name: "CurlTransport",
            dependencies: ["CCurlNetworkingLibcurl", "CCurlNetworkingLinux", "CurlNetworkingLocks"]
        ),
        .target(
            name: "CurlNetworking",
            dependencies: ["CurlTransport", "CurlNetworkingLocks"],
            exclude: ["arrows.txt"]
        ),
        .target(name: "CurlURLProtocol", dependencies: ["CurlNetworking", "CurlNetworkingLocks"]),
        .executableTarget(
            name: "CurlNetworkingHalfTunes",
            dependencies: ["CurlNetworking", "CurlNetworkingLoopbackServer", "CurlNetworkingLocks"],
            path: "Sources/halftunes"
        ),
        .executableTarget(name: "curlnetworking-agent", dependencies: ["CurlNetworking"]),
        .executableTarget(name: "switch-to-curlnetworking"),
        .target(
            name: "CurlNetworkingLoopbackServer",
            dependencies: ["CCurlNetworkingLinux"],
            path: "Tests/LoopbackServer"
        ),
        // `…ParityOurs` and `…ParityStock` compile the same scenarios; only the imported module differs.
        .target(
            name: "CurlNetworkingParityStage",
            dependencies: ["CurlNetworkingLoopbackServer"],
            path: "Tests/Parity/Stage"
        ),
        .target(
            name: "CurlNetworkingParityOurs",
            dependencies: ["CurlNetworking", "CurlNetworkingLoopbackServer", "CurlNetworkingParityStage"],
            path: "Tests/Parity/Scenarios/Ours"
        ),
        .target(
            name: "CurlNetworkingParityStock",
            dependencies: ["CurlNetworkingLoopbackServer", "CurlNetworkingParityStage"],
            path: "Tests/Parity/Scenarios/Stock"
        ),
        .executableTarget(
            name: "CurlNetworkingParity",
            dependencies: [
                "CurlURLProtocol", "CurlNetworkingParityOurs", "CurlNetworkingParityStage", "CurlNetworkingParityStock",
            ],
            path: "Tests/Parity/Program"
        ),
        .executableTarget(
            name: "connection-tuning",
            dependencies: ["CurlNetworking", "CurlNetworkingLoopbackServer"],
            path: "Tests/ConnectionTuning"
        ),
        .target(
            name: "TestSupport",
            dependencies: ["CurlTransport", "CurlNetworking", "CurlNetworkingLoopbackServer", "CurlNetworkingLocks"],
            path: "Tests/TestSupport",
            exclude: ["Servers/Python"]
        ),
        .executableTarget(
            name: "test-helper",
            dependencies: ["CurlTransport", "CurlNetworking", "TestSupport"],
            path: "Tests/TestHelper"
        ),
        .executableTarget(
            name: "soak",
            dependencies: ["CurlNetworking", "CurlNetworkingLoopbackServer"],
            path: "Tests/Soak"
        ),
        .executableTarget(
            name: "load",
            dependencies: ["CurlNetworking", "CurlNetworkingLoopbackServer", "TestSupport"],
            path: "Tests/Load",
            exclude: ["crowd.c", "threads.c"]
        ),
        .executableTarget(
            name: "background-helper",
            dependencies: ["CurlNetworking"],
            path: "Tests/BackgroundHelper"
        ),
        .executableTarget(name: "fork-helper", dependencies: ["CurlNetworking"], path: "Tests/ForkHelper"),
        // These run in parallel; the others one after the other.
        .testTarget(
            name: "LogicTests",
            dependencies: [
                "CurlTransport", "CurlNetworking", "CurlNetworkingLoopbackServer", "CurlNetworkingLocks", "TestSupport",
                "CurlNetworkingHalfTunes", "switch-to-curlnetworking",
            ]
        ),
        .testTarget(
            name: "ComponentTests",
            dependencies: [
                "CurlTransport", "CurlNetworking", "CurlNetworkingLoopbackServer", "TestSupport",
                "CurlNetworkingHalfTunes",
            ]
        ),
        .testTarget(
            name: "BehaviourTests",
            dependencies: [
                "CurlTransport", "CurlNetworking", "CurlNetworkingLoopbackServer", "CurlNetworkingLocks", "TestSupport",
                "test-helper",
            ]
        ),
        .testTarget(
            name: "CrashTests",
            dependencies: [
                "CurlNetworking", "CurlNetworkingLoopbackServer", "TestSupport", "curlnetworking-agent", "fork-helper",
                "load",
                "test-helper",
            ]
        ),
        .testTarget(
            name: "ParityTests",
            dependencies: [
                "CurlTransport", "CurlNetworkingLoopbackServer", "CurlNetworkingParityStage", "StockLibrary",
                "TestSupport",
                "switch-to-curlnetworking",
                "CurlNetworkingParity",
            ] + importShapes.map { .byName(name: $0.name) }
        ),
        .testTarget(
            name: "URLProtocolTests",
            dependencies: ["CurlURLProtocol", "CurlNetworkingLoopbackServer", "TestSupport"]
        ),
        .testTarget(
            name: "WebSocketTests",
            dependencies: [
                "CurlTransport", "CurlNetworking", "CurlNetworkingLoopbackServer", "CurlNetworkingLocks", "TestSupport",
            ]
        ),
        .testTarget(
            name: "StreamTests",
            dependencies: [
                "CurlTransport", "CurlNetworking", "CurlNetworkingLoopbackServer", "CurlNetworkingLocks", "TestSupport",
            ]
        ),
        .testTarget(
            name: "BackgroundTests",
            dependencies: [
                "CCurlNetworkingLinux", "CurlNetworking", "CurlNetworkingLoopbackServer", "CurlNetworkingLocks",
                "TestSupport", "background-helper", "curlnetworking-agent",
            ]
        ),
        .target(name: "CurlNetworkingExampleSupport", path: "Tests/Examples/Support"),
        .testTarget(
            name: "ExampleTests",
            dependencies: ["CurlNetworkingLoopbackServer", "TestSupport"] + examples.map { .byName(name: $0.name) }
        ),
        .target(name: "Reexporting", path: "Tests/ImportShapes/Reexporting"),
        .target(name: "StockLibrary", path: "Tests/ImportShapes/StockLibrary"),
        .target(name: "OurLibrary", dependencies: ["CurlNetworking"], path: "Tests/ImportShapes/OurLibrary"),
    ] + examples + importShapes,
    swiftLanguageModes: [.v6]
)
