import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

/// Reads and sets properties that are deprecated, without the compiler's warning.
private protocol OlderTLSNames: AnyObject {
    var tlsMinimumSupportedProtocol: SSLProtocol { get set }
    var tlsMaximumSupportedProtocol: SSLProtocol { get set }
}

extension URLSessionConfiguration: OlderTLSNames {}

@Suite("Properties that Apple's URLSession has and the stock module's has not", .timeLimit(.minutes(1)))
struct ApplePropertiesTests {
    @Test("A configuration keeps them, with Apple's defaults, and so does a session's copy")
    func configuration() {
        let configuration = URLSessionConfiguration.ephemeral
        #expect(configuration.allowsExpensiveNetworkAccess)
        #expect(configuration.allowsConstrainedNetworkAccess)
        #expect(!configuration.allowsUltraConstrainedNetworkAccess)
        #expect(configuration.multipathServiceType == .none)
        #expect(!configuration.requiresDNSSECValidation)
        #expect(!configuration.enablesEarlyData)
        #expect(configuration.usesClassicLoadingMode)
        #expect(configuration.identifier == nil)
        configuration.allowsExpensiveNetworkAccess = false
        configuration.allowsConstrainedNetworkAccess = false
        configuration.allowsUltraConstrainedNetworkAccess = true
        configuration.multipathServiceType = .handover
        configuration.enablesEarlyData = true
        configuration.usesClassicLoadingMode = false
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        let copy = session.configuration
        #expect(!copy.allowsExpensiveNetworkAccess)
        #expect(!copy.allowsConstrainedNetworkAccess)
        #expect(copy.allowsUltraConstrainedNetworkAccess)
        #expect(copy.multipathServiceType == .handover)
        #expect(copy.enablesEarlyData)
        #expect(!copy.usesClassicLoadingMode)
    }

    @Test("The older names of TLS versions are those of the newer properties")
    func olderTLSNames() {
        let configuration = URLSessionConfiguration.ephemeral
        let older: any OlderTLSNames = configuration
        #expect(older.tlsMinimumSupportedProtocol == .tlsProtocol12)
        #expect(older.tlsMaximumSupportedProtocol == .tlsProtocol13)
        older.tlsMinimumSupportedProtocol = .tlsProtocol13
        #expect(configuration.tlsMinimumSupportedProtocolVersion == .TLSv13)
        older.tlsMinimumSupportedProtocol = .sslProtocolUnknown
        #expect(configuration.tlsMinimumSupportedProtocolVersion == .TLSv12)
        older.tlsMaximumSupportedProtocol = .tlsProtocol12
        #expect(configuration.tlsMaximumSupportedProtocolVersion == .TLSv12)
        older.tlsMinimumSupportedProtocol = .tlsProtocolMaxSupported
        older.tlsMaximumSupportedProtocol = .tlsProtocolMaxSupported
        #expect(configuration.tlsMinimumSupportedProtocolVersion == .TLSv13)
        #expect(configuration.tlsMaximumSupportedProtocolVersion == .TLSv13)
        #expect(SSLProtocol.tlsProtocolMaxSupported.rawValue == 999)
    }

    @Test("An older maximum lowers the minimum, until the program sets one")
    func loweredMinimum() {
        let configuration = URLSessionConfiguration.ephemeral
        let older: any OlderTLSNames = configuration
        older.tlsMaximumSupportedProtocol = .tlsProtocol11
        #expect(configuration.tlsMinimumSupportedProtocolVersion == .TLSv11)
        configuration.tlsMinimumSupportedProtocolVersion = .TLSv12
        #expect(configuration.tlsMinimumSupportedProtocolVersion == .TLSv12)
        older.tlsMinimumSupportedProtocol = .sslProtocolUnknown
        #expect(configuration.tlsMinimumSupportedProtocolVersion == .TLSv11)
        configuration.tlsMaximumSupportedProtocolVersion = .TLSv13
        #expect(configuration.tlsMinimumSupportedProtocolVersion == .TLSv12)
    }

    @Test("Raw values are Apple's")
    func rawValues() {
        #expect(URLSession.DelayedRequestDisposition.continueLoading.rawValue == 0)
        #expect(URLSession.DelayedRequestDisposition.useNewRequest.rawValue == 1)
        #expect(URLSession.DelayedRequestDisposition.cancel.rawValue == 2)
        #expect(URLSessionConfiguration.MultipathServiceType.aggregate.rawValue == 3)
        #expect(URLError.NetworkUnavailableReason.constrained.rawValue == 2)
    }

    @Test("A copy of a session is the session")
    func copy() {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(session.copy() as AnyObject === session)
        #expect((session as any NSCopying).copy(with: nil) as AnyObject === session)
    }

    @Test("A task prefers pieces unless its result comes as a whole, and keeps what the program says instead")
    func prefersIncrementalDelivery() throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://localhost/"))
        let task = session.dataTask(with: url)
        let tasks: [URLSessionTask] = [
            session.dataTask(with: url) { _, _, _ in }, session.downloadTask(with: url),
            session.downloadTask(with: url) { _, _, _ in }, session.webSocketTask(with: url),
            session.uploadTask(with: URLRequest(url: url), from: Data()), task,
        ]
        #expect(tasks.map(\.prefersIncrementalDelivery) == [false, false, false, true, true, true])
        task.prefersIncrementalDelivery = false
        #expect(!task.prefersIncrementalDelivery)
    }

    @Test("An error tells why a network may not be used, if its user info says so")
    func networkUnavailableReason() {
        #expect(URLError(.notConnectedToInternet).networkUnavailableReason == nil)
        let error = URLError(.notConnectedToInternet, userInfo: [NSURLErrorNetworkUnavailableReasonKey: 1])
        #expect(error.networkUnavailableReason == .expensive)
    }

    @Test("The storages' async methods answer for a task's request")
    func storages() async throws {
        let rig = try Rig { _ in
            .text("stored").header("Cache-Control", "max-age=600").header("Set-Cookie", "name=value")
        }
        defer { rig.stop() }
        let (bytes, _) = try await rig.session.bytes(from: rig.url("/"))
        for try await _ in bytes {}
        #expect(await rig.session.load(rig.url("/")).text == "stored")
        let task = rig.session.dataTask(with: rig.url("/"))
        let configuration = rig.session.configuration
        let cookies = try #require(configuration.httpCookieStorage)
        #expect(await cookies.cookies(for: task)?.map(\.name) == ["name"])
        let cache = try #require(configuration.urlCache)
        let response = CachedURLResponse(
            response: URLResponse(url: rig.url("/"), mimeType: nil, expectedContentLength: 1, textEncodingName: nil),
            data: Data("put".utf8)
        )
        cache.storeCachedResponse(response, for: task)
        #expect(await cache.cachedResponse(for: task)?.data == Data("put".utf8))
        let credentials = try #require(configuration.urlCredentialStorage)
        let space = URLProtectionSpace(
            host: "localhost",
            port: rig.server.port,
            protocol: "http",
            realm: "here",
            authenticationMethod: nil
        )
        #expect(await credentials.defaultCredential(for: space, task: task) == nil)
        let credential = URLCredential(user: "somebody", password: "secret", persistence: .forSession)
        credentials.setDefaultCredential(credential, for: space, task: task)
        #expect(await credentials.defaultCredential(for: space, task: task)?.user == "somebody")
        #expect(await credentials.credentials(for: space, task: task)?.keys.sorted() == ["somebody"])
    }
}
