import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

/// Calls an initialiser that is deprecated, without the compiler's warning.
private protocol OlderMaker {
    static func make() -> URLSessionConfiguration
}

private enum OlderInitialiser: OlderMaker {
    @available(*, deprecated)
    static func make() -> URLSessionConfiguration { URLSessionConfiguration() }
}

@Suite("A session's configuration", .timeLimit(.minutes(1)))
struct SessionConfigurationCopyTests {
    @Test("A configuration is copied when its session is created: later changes to the object have no effect")
    func copiedOnUse() async throws {
        let server = try LoopbackServer { .echo($0) }
        defer { server.stop() }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["X-Name": "before"]
        let session = URLSession(configuration: configuration)
        configuration.httpAdditionalHeaders = ["X-Name": "after"]
        configuration.timeoutIntervalForRequest = 0.001
        _ = try await session.data(from: server.url("/"))
        #expect(server.requests[0].header("X-Name") == "before")
        #expect(session.configuration.httpAdditionalHeaders?["X-Name"] as? String == "before")
        #expect(session.configuration.timeoutIntervalForRequest == 60)
    }

    @Test("The configuration that a session returns is a copy too")
    func copiedOnRead() async throws {
        let server = try LoopbackServer { .echo($0) }
        defer { server.stop() }
        let session = URLSession.forTest { $0.httpAdditionalHeaders = ["X-Name": "mine"] }
        session.configuration.httpAdditionalHeaders = ["X-Name": "theirs"]
        _ = try await session.data(from: server.url("/"))
        #expect(server.requests[0].header("X-Name") == "mine")
        #expect(session.configuration.httpAdditionalHeaders?["X-Name"] as? String == "mine")
    }

    @Test("default and ephemeral are new objects each time")
    func freshObjects() {
        URLSessionConfiguration.default.timeoutIntervalForRequest = 1
        URLSessionConfiguration.ephemeral.timeoutIntervalForRequest = 1
        #expect(URLSessionConfiguration.default.timeoutIntervalForRequest == 60)
        #expect(URLSessionConfiguration.ephemeral.timeoutIntervalForRequest == 60)
        #expect(URLSessionConfiguration.default !== URLSessionConfiguration.default)
    }

    @Test("Ephemeral sessions share no storage with others; default ones use the process's")
    func storages() {
        let first = URLSessionConfiguration.ephemeral
        let second = URLSessionConfiguration.ephemeral
        #expect(first.httpCookieStorage !== HTTPCookieStorage.shared)
        #expect(first.httpCookieStorage !== second.httpCookieStorage)
        #expect(first.urlCache !== URLCache.shared)
        #expect(first.urlCredentialStorage !== URLCredentialStorage.shared)
        #expect(URLSessionConfiguration.default.httpCookieStorage === HTTPCookieStorage.shared)
        #expect(URLSessionConfiguration.default.urlCache === URLCache.shared)
    }

    @Test("The initialiser makes one like default, with the process's storages")
    func initialiser() {
        let maker: any OlderMaker.Type = OlderInitialiser.self
        let configuration = maker.make()
        #expect(configuration.httpCookieStorage === HTTPCookieStorage.shared)
        #expect(configuration.urlCredentialStorage === URLCredentialStorage.shared)
        #expect(configuration.urlCache === URLCache.shared)
        #expect(configuration.identifier == nil)
    }

    @Test("A session's description is the program's to set")
    func sessionDescription() {
        let session = URLSession.forTest()
        #expect(session.sessionDescription == nil)
        session.sessionDescription = "the one"
        #expect(session.sessionDescription == "the one")
    }
}
