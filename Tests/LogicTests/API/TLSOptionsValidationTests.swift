import Foundation
import Testing

@testable import CurlNetworking

@Suite("TLS options that make no sense")
struct TLSOptionsValidationTests {
    private func problem(_ change: (inout CurlOptions) -> Void) -> String? {
        var options = CurlOptions()
        change(&options)
        do throws(CurlOptionsError) {
            try options.validate()
            return nil
        } catch {
            return error.option
        }
    }

    private static let pin = "sha256//" + Data(repeating: 1, count: 32).base64EncodedString()

    @Test("A TLS option that makes no sense is named by the error")
    func named() {
        #expect(problem { $0.tls.trustRoots = [.data(Data("nothing".utf8))] } == "tls.trustRoots")
        #expect(problem { $0.tls.trustRoots = [] } == "tls.trustRoots")
        #expect(problem { $0.tls.additionalTrustRoots = [.data(Data())] } == "tls.additionalTrustRoots")
        #expect(problem { $0.tls.cipherSuites = [] } == "tls.cipherSuites")
        #expect(problem { $0.tls.tls13CipherSuites = [""] } == "tls.tls13CipherSuites")
        #expect(problem { ($0.tls.minimumVersion, $0.tls.maximumVersion) = (.TLSv13, .TLSv12) } == "tls.minimumVersion")
        #expect(problem { $0.tls.maximumVersion = .DTLSv12 } == "tls.minimumVersion")
        #expect(problem { $0.tls.identity = .pem(certificates: .data(Data())) } == "tls.identity")
        #expect(
            problem { $0.tls.identity = .pkcs12(.data(Data([1])), passphrase: "a\0b") } == "tls.identity"
        )
        #expect(
            problem { $0.hosts["a.example"].publicKeyPins = ["sha256//short"] } == "hosts[\"a.example\"].publicKeyPins"
        )
        #expect(problem { $0.hosts["a.example"].publicKeyPins = [] } == "hosts[\"a.example\"].publicKeyPins")
        var tls = CurlOptions.TLSOptions()
        tls.trustRoots = []
        #expect(problem { $0.hosts["a.example"].tls = tls } == "hosts[\"a.example\"].tls.trustRoots")
    }

    @Test("A TLS option with a URL that isn't a file's is named by the error")
    func strangeURLs() throws {
        let (url, file) = (try Sample.url("https://example.com/ca.pem"), URL(fileURLWithPath: "/nonexistent"))
        #expect(problem { $0.tls.trustRoots = [.file(file), .file(url)] } == "tls.trustRoots")
        #expect(problem { $0.tls.trustRoots = [.directory(url)] } == "tls.trustRoots")
        #expect(problem { $0.tls.additionalTrustRoots = [.file(url)] } == "tls.additionalTrustRoots")
        #expect(problem { $0.tls.revocationLists = [file, url] } == "tls.revocationLists")
        #expect(problem { $0.tls.identity = .pem(certificates: .file(url)) } == "tls.identity")
        #expect(
            problem { $0.tls.identity = .pem(certificates: .file(file), privateKey: .file(url)) } == "tls.identity"
        )
        #expect(problem { $0.tls.identity = .pkcs12(.file(url)) } == "tls.identity")
        #expect(problem { $0.tls.identity = .pem(certificates: .file(file), privateKey: .file(file)) } == nil)
    }

    @Test("TLS options that make sense are accepted")
    func fine() {
        #expect(problem { _ in } == nil)
        #expect(problem { ($0.tls.minimumVersion, $0.tls.maximumVersion) = (.TLSv12, .TLSv12) } == nil)
        #expect(problem { $0.hosts["a.example"].publicKeyPins = [Self.pin, Self.pin] } == nil)
        // Files are read when they are needed.
        #expect(problem { $0.tls.trustRoots = [.file(URL(fileURLWithPath: "/nonexistent"))] } == nil)
    }

    @Test("A host that is not verified is worth a line, which names it")
    func warnings() {
        var options = CurlOptions()
        #expect(options.warnings.isEmpty)
        options.hosts["b.example"].trustsAnyCertificate = true
        options.hosts["a.example"].trustsAnyCertificate = true
        options.hosts["c.example"].trustsAnyCertificate = false
        #expect(options.warnings.count == 2)
        #expect(options.warnings.first?.contains("\"a.example\"") == true)
        #expect(options.warnings.allSatisfy { !$0.contains("\n") })
    }

    @Test("No passphrase is in an identity's description, nor in a dump")
    func description() {
        let identity = TLSIdentity.pkcs12(.data(Data([1])), passphrase: "secret")
        #expect("\(identity)" == "TLSIdentity(P12)")
        var options = CurlOptions.TLSOptions()
        options.identity = identity
        var text = ""
        dump(options, to: &text)
        #expect(text.contains("TLSIdentity(P12)"))
        #expect(!text.contains("secret"))
    }
}
