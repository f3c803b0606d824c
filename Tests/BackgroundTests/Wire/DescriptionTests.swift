import CurlTransport
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("What program and agent write down")
struct DescriptionTests {
    private func copy<Value: Codable>(_ value: Value) throws -> Value {
        try WireCoding.decoder.decode(Value.self, from: WireCoding.encoder.encode(value))
    }

    @Test("A request comes out as it went in")
    func request() throws {
        var request = URLRequest(url: try #require(URL(string: "http://u:p@host/path?query#fragment")))
        request.httpMethod = "PUT"
        request.httpBody = Data([0, 1, 2, 255])
        request.setValue("a, b", forHTTPHeaderField: "X-List")
        request.timeoutInterval = .infinity
        request.httpShouldHandleCookies = false
        request.cachePolicy = .reloadIgnoringLocalAndRemoteCacheData
        let description = try #require(RequestDescription(request))
        let same = try copy(description).request
        #expect(same.url == request.url)
        #expect(same.httpMethod == "PUT")
        #expect(same.httpBody == request.httpBody)
        #expect(same.allHTTPHeaderFields == request.allHTTPHeaderFields)
        #expect(same.timeoutInterval == .infinity)
        #expect(!same.httpShouldHandleCookies)
        #expect(same.cachePolicy == .reloadIgnoringLocalAndRemoteCacheData)
        var odd = description
        for policy in [nil, 77] as [UInt?] {
            odd.cachePolicy = policy
            #expect(try copy(odd).request.cachePolicy == .useProtocolCachePolicy)
        }
    }

    @Test("An error comes out with everything that explains it")
    func error() throws {
        let trust = ServerTrust(
            host: "expired.test",
            certificates: [Data([0x30, 0])],
            problem: .expired,
            reason: "certificate has expired"
        )
        let details: [String: Any] = [
            CurlErrorKey.code: 60, CurlErrorKey.text: "SSL: no", CurlErrorKey.phase: "securing",
            CurlErrorKey.verification: 10, CurlErrorKey.proxyStatus: 403,
            CurlErrorKey.proxyReason: 24, NSFilePathErrorKey: "/file",
            NSUnderlyingErrorKey: NSError(domain: NSPOSIXErrorDomain, code: 5),
        ]
        let url = try #require(URL(string: "https://expired.test/"))
        let error = URLError(.serverCertificateHasBadDate, url: url, "No.", details: details)
        let same = try copy(ErrorDescription(error.with(peerTrust: trust))).error
        #expect(same.code == .serverCertificateHasBadDate && same.localizedDescription == "No.")
        #expect(same.failingURL == url && same.certificateProblem == .expired)
        #expect(same.failureURLPeerTrust == trust)
        #expect(same.userInfo[CurlErrorKey.phase] as? String == "securing")
        #expect(same.userInfo[CurlErrorKey.proxyStatus] as? Int == 403)
        #expect(same.userInfo[CurlErrorKey.proxyReason] as? Int == 24)
        #expect(same.userInfo[NSFilePathErrorKey] as? String == "/file")
        #expect((same.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == 5)
    }

    @Test("An error comes out with the error that caused it")
    func cause() throws {
        let url = try #require(URL(string: "https://host/"))
        let lack = URLError(.cannotConnectToHost, url: url, "No way.", cause: SystemError(code: ECONNREFUSED))
        let error = URLError(.timedOut, url: url, "Too long.", details: [NSUnderlyingErrorKey: lack])
        let same = try copy(ErrorDescription(error)).error
        #expect(same.code == .timedOut && same.localizedDescription == "Too long." && same.systemError == nil)
        let cause = try #require(same.userInfo[NSUnderlyingErrorKey] as? URLError)
        #expect(cause.code == .cannotConnectToHost && cause.localizedDescription == "No way.")
        #expect(cause.systemError?.code == ECONNREFUSED)
    }

    @Test("An error about an upload's file names the file, and is about the request")
    func file() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file(Data("content".utf8))
        let url = try #require(URL(string: "http://127.0.0.1:9/"))
        let upload = try UploadFile(file)
        #expect(upload.problem(for: url) == nil)
        try Data("other content".utf8).write(to: file)
        let changed = try #require(upload.problem(for: url))
        try FileManager.default.removeItem(at: file)
        let removed = try #require(upload.problem(for: url))
        #expect([changed.code, removed.code] == [.cannotOpenFile, .fileDoesNotExist])
        #expect(mkdir(file.path, 0o700) == 0)
        #expect(upload.problem(for: url)?.code == .fileIsDirectory)
        #expect(rmdir(file.path) == 0)
        let missing = try #require(
            #expect(throws: URLError.self, "A file that doesn't exist can't be uploaded") {
                try BackgroundRules.kind(URLRequest(url: url), .delegate, .file(file))
            }
        )
        for error in [changed, removed, missing] {
            #expect(error.failingURL == url && error.userInfo[NSFilePathErrorKey] as? String == file.path)
        }
    }

    @Test("A file to upload is unchanged though its file system has another number, as after a restart")
    func otherDevice() throws {
        let directory = try TemporaryDirectory()
        let url = try #require(URL(string: "http://127.0.0.1:9/"))
        var upload = try UploadFile(try directory.file(Data("content".utf8)))
        upload.device += 1
        #expect(upload.problem(for: url) == nil)
        upload.inode += 1
        #expect(upload.problem(for: url)?.code == .cannotOpenFile)
    }

    @Test("A file of another machine is refused, though there is one with its path here")
    func otherMachine() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file(Data("content".utf8)).path
        let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:9/")))
        let file = try #require(URL(string: "file://elsewhere.invalid" + path))
        let error = #expect(throws: URLError.self) { try BackgroundRules.kind(request, .delegate, .file(file)) }
        #expect(error?.code == .badURL && error?.failingURL == request.url)
    }

    @Test("A file that no session can upload is refused with the same words as in others")
    func refusedFiles() throws {
        let directory = try TemporaryDirectory()
        let url = try #require(URL(string: "http://127.0.0.1:9/"))
        let pipe = directory.url.appendingPathComponent("pipe")
        #expect(mkfifo(pipe.path, 0o600) == 0)
        let loop = directory.url.appendingPathComponent("loop")
        #expect(symlink("loop", loop.path) == 0)
        let missing = directory.url.appendingPathComponent("none")
        let others = ["/dev/null", "/proc/self/status"].map { URL(fileURLWithPath: $0) }
        for file in [directory.url, pipe, loop, missing] + others {
            let error = #expect(throws: URLError.self, "\(file.path) is uploaded") {
                try BackgroundRules.kind(URLRequest(url: url), .delegate, .file(file))
            }
            let same = #expect(throws: URLError.self) { _ = try ReadableFile(file, for: url) }
            #expect(error?.code == same?.code && error?.localizedDescription == same?.localizedDescription)
        }
        let empty = try directory.file(Data())
        #expect(throws: Never.self, "An empty file is refused") {
            try BackgroundRules.kind(URLRequest(url: url), .delegate, .file(empty))
        }
    }

    @Test("A configuration comes out as it went in, as far as an agent needs it")
    func configuration() throws {
        let configuration = URLSessionConfiguration.background(withIdentifier: "a")
        configuration.timeoutIntervalForResource = 5
        configuration.httpAdditionalHeaders = ["X-A": "b"]
        configuration.tlsMinimumSupportedProtocolVersion = .TLSv13
        configuration.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "proxy", "HTTPPort": 8080]
        configuration.curl.tls.identity = .pkcs12(.data(Data([1, 2, 3])), passphrase: "secret")
        configuration.curl.tls.minimumVersion = .TLSv12
        configuration.curl.hosts["*.test"].connections.idleLifetime = .milliseconds(1500)
        configuration.curl.hosts["*.test"].names.localEnd = .ports(1000...2000)
        configuration.curl.names.unixSocket = .abstract("name")
        configuration.curl.proxy = .server(CurlOptions.ProxyServer(.socks5h, host: "socks", port: 1080))
        configuration.curl.httpVersion = .http1
        let folder = FileManager.default.temporaryDirectory
        let description = try copy(SessionDescription(configuration, delegate: nil))
        let same = try description.makeConfiguration(in: folder)
        #expect(same.identifier == nil)
        // The agent counts the time of all attempts together.
        #expect(description.resourceTimeout == 5)
        #expect(same.timeoutIntervalForResource == .infinity)
        #expect(same.httpAdditionalHeaders?["X-A"] as? String == "b")
        #expect(same.tlsMinimumSupportedProtocolVersion == .TLSv13)
        #expect(same.connectionProxyDictionary?["HTTPPort"] as? Int == 8080)
        #expect(same.curl.tls == configuration.curl.tls)
        #expect(same.curl.hosts["*.test"].connections.idleLifetime == .milliseconds(1500))
        #expect(same.curl.hosts["*.test"].names.localEnd == .ports(1000...2000))
        #expect(same.curl.names.unixSocket == .abstract("name"))
        #expect(same.curl.proxy == configuration.curl.proxy)
        #expect(same.curl.httpVersion == .http1)
        #expect(same.curl.temporaryDirectory == folder)
    }

    @Test("Requests name the program and its languages, and not the agent's, unless the session says something else")
    func programFields() throws {
        let configuration = URLSessionConfiguration.background(withIdentifier: "a")
        configuration.httpAdditionalHeaders = ["user-agent": "mine"]
        let headers = try copy(SessionDescription(configuration, delegate: nil)).headers
        let language = try #require(RequestEncoder.programFields.first { $0.name == "Accept-Language" })
        #expect(headers == ["user-agent": "mine", language.name: language.value])
        let program = SessionDescription(.background(withIdentifier: "a"), delegate: nil).headers["User-Agent"]
        #expect(program?.hasPrefix(ProcessInfo.processInfo.processName) == true)
    }

    @Test("Proxies that can't be sent to an agent are refused, and not left out")
    func proxies() {
        let configuration = URLSessionConfiguration.background(withIdentifier: "a")
        configuration.connectionProxyDictionary = ["HTTPEnable": 1, "ExceptionsList": ["example.org"]]
        #expect(BackgroundRules.fault(of: configuration, hasDelegate: true) == nil)
        configuration.connectionProxyDictionary = ["HTTPEnable": 1, "ExceptionsList": Set(["example.org"])]
        let fault = BackgroundRules.fault(of: configuration, hasDelegate: true)
        #expect(fault?.contains("connectionProxyDictionary") == true)
    }

    @Test("The environment's proxies are the program's; a dictionary of the configuration takes their place")
    func environment() throws {
        let configuration = URLSessionConfiguration.background(withIdentifier: "a")
        let folder = FileManager.default.temporaryDirectory
        let origin = try #require(URL(string: "http://host/").flatMap(Origin.init))
        func proxy(_ variables: [String: String]) throws -> String? {
            let description = SessionDescription(configuration, delegate: nil, environment: variables)
            let settings = SessionSettings(try copy(description).makeConfiguration(in: folder))
            return settings.proxies.route(to: origin, own: nil).server?.host
        }
        #expect(try proxy(["http_proxy": "first:1"]) == "first")
        #expect(try proxy(["http_proxy": "first:1", "no_proxy": "host"]) == nil)
        #expect(try proxy([:]) == nil)
        let one = SessionDescription(configuration, delegate: nil, environment: [:])
        #expect(!one.equals(SessionDescription(configuration, delegate: nil, environment: ["http_proxy": "first:1"])))
        configuration.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "second", "HTTPPort": 2]
        #expect(try proxy(["http_proxy": "first:1"]) == "second")
    }

    @Test("Descriptions of two configurations are equal if an agent would do the same for both")
    func equalConfigurations() throws {
        let configuration = URLSessionConfiguration.background(withIdentifier: "a")
        configuration.timeoutIntervalForResource = .infinity
        configuration.httpAdditionalHeaders = Dictionary(uniqueKeysWithValues: (0..<50).map { ("X-\($0)", "\($0)") })
        let description = SessionDescription(configuration, delegate: nil)
        #expect(try copy(description).equals(description))
        configuration.curl.hosts["*.test"].publicKeyPins = ["sha256//x"]
        #expect(!SessionDescription(configuration, delegate: nil).equals(description))
    }

    @Test("A cookie comes out as it is to be sent: also one that is secure by its comment, or for some ports")
    func cookie() throws {
        let date = Date(timeIntervalSince1970: 4_000_000_000)
        let properties: [HTTPCookiePropertyKey: Any] = [
            .name: "a", .value: "b", .domain: ".example.com", .path: "/p", .comment: "Secure", .expires: date,
        ]
        let cookie = StoredCookie(try #require(HTTPCookie(properties: properties)), ports: [80, 8080])
        let same = try #require(try copy(CookieDescription(cookie)).stored)
        #expect(same.equals(cookie))
        #expect(same.isSecure && same.ports == [80, 8080] && same.expires == date)
        let plain = StoredCookie(
            try #require(HTTPCookie(properties: [.name: "a", .value: "b", .domain: "example.com", .path: "/"]))
        )
        let other = try #require(try copy(CookieDescription(plain)).stored)
        #expect(other.equals(plain))
        #expect(!other.isSecure && other.ports.isEmpty && other.expires == nil)
    }

    @Test("Every option goes to the agent, or is known not to")
    func everyOption() throws {
        func names(_ value: Any) -> Set<String> { Set(Mirror(reflecting: value).children.compactMap(\.label)) }
        // Where files are, what the program's own process does, its code, and what only other tasks or the agent itself need.
        let others: Set = [
            "temporaryDirectory", "ignoresBrokenPipeSignal", "eventLoops", "runsTasksOnEventLoop", "configureTransfer",
            "trace", "webSockets",
            "background",
        ]
        let sent = names(AgentOptions(CurlOptions()))
        #expect(sent.isDisjoint(with: others))
        #expect(sent.union(others) == names(CurlOptions()))
    }

    @Test("The numbers among the options come out as they went in")
    func numbers() throws {
        var options = CurlOptions()
        (options.maximumConnections, options.maximumKeptConnections) = (11, 12)
        options.maximumStreamsPerConnection = 13
        options.connections.idleLifetime = .seconds(14)
        let same = try copy(AgentOptions(options)).options
        #expect(same.maximumConnections == 11 && same.maximumKeptConnections == 12)
        #expect(same.maximumStreamsPerConnection == 13)
        #expect(same.connections.idleLifetime == .seconds(14))
    }

    @Test(
        "Names of records are a number and a key, and nothing else",
        arguments: ["1.task", "0-\(UUID()).task", "-1-\(UUID()).task", "../1.task", ""]
    )
    func names(name: String) {
        #expect(RecordName(name) == nil)
        let good = RecordName(identifier: 7, key: UUID())
        #expect(RecordName(good.text) == good)
    }

    @Test(
        "Whatever the name of a session or a container, its folder is one in the folder above",
        arguments: ["", ".", "..", "a/../b", "a/\u{301}b", "\u{0}", "ä"]
    )
    func folders(name: String) {
        let folder = StateFolder(named: name)
        #expect(folder.url.deletingLastPathComponent().lastPathComponent == "curlnetworking")
        #expect(folder.session(name).deletingLastPathComponent().path == folder.sessions.path)
        #expect(folder.session(name).lastPathComponent.count == 32)
    }
}
