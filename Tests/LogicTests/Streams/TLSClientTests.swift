import Foundation
import Testing

@testable import CurlNetworking
@testable import CurlTransport

@Suite("Whether there is a TLS client")
struct TLSClientAvailabilityTests {
    private static let hasOpenSSL = CurlLibrary.tlsLibrary.hasPrefix("OpenSSL/")

    @Test(
        "There is a TLS client if libcurl's TLS is OpenSSL's",
        .enabled(if: hasOpenSSL, "this libcurl has another TLS")
    )
    func available() {
        #expect(CurlLibrary.startsTLS)
    }
}

@Suite("The TLS client over memory", .enabled(if: CurlLibrary.startsTLS))
struct TLSClientTests {
    // TLS 1.2 and 1.3
    private static let versions = [0x0303, 0x0304]

    @Test(
        "The TLS client shakes hands and carries bytes both ways, however they are cut",
        arguments: versions,
        [1, 7, 100_000]
    )
    func conversation(_ version: Int, _ pieceSize: Int) throws {
        let pair = try TLSPair(TLSServerEnd(maximumVersion: version))
        #expect(try pair.shakeHands(pieceSize: pieceSize) == .done)
        #expect(pair.client.session?.protocolVersion == UInt16(version))
        try pair.write("hello")
        #expect(pair.server.read() == "hello")
        pair.server.write("good day")
        try pair.toClient()
        #expect(try pair.read() == "good day")
        #expect(try pair.read() == "")
    }

    @Test("Closing is heard on both sides, and what follows is in plain text", arguments: versions)
    func closing(_ version: Int) throws {
        let pair = try TLSPair(TLSServerEnd(maximumVersion: version))
        #expect(try pair.shakeHands() == .done)
        pair.client.close()
        pair.toServer()
        #expect(pair.server.read() == nil)
        pair.server.write("last words")
        pair.server.close()
        try pair.toClient()
        try Array("plain".utf8).withUnsafeBytes { try pair.client.receive($0) }
        #expect(try pair.read() == "last words")
        #expect(try pair.read() == nil)
        #expect(pair.client.takeRemainder() == Array("plain".utf8))
    }

    @Test("Bytes before a bad record are read, and then the same error again and again", arguments: versions)
    func badRecord(_ version: Int) throws {
        let pair = try TLSPair(TLSServerEnd(maximumVersion: version))
        #expect(try pair.shakeHands() == .done)
        pair.server.write("good, ")
        pair.server.write("still good")
        try pair.toClient()
        pair.server.write("bad")
        var record = pair.server.takeOutput()
        record[record.count - 1] ^= 1
        try record.withUnsafeBytes { try pair.client.receive($0) }
        let (reading, data) = try pair.client.read(most: 100)
        #expect(reading == .bytes(16) && data == Data("good, still good".utf8))
        var texts: [String] = []
        for _ in 0..<2 {
            do {
                _ = try pair.client.read(most: 100)
            } catch {
                texts.append(error.text)
            }
        }
        #expect(texts.count == 2 && Set(texts).count == 1)
    }

    @Test("A server that does nothing but change keys is left before that takes memory", arguments: [false, true])
    func keyUpdates(areAnswered: Bool) throws {
        let pair = try TLSPair(TLSServerEnd())
        #expect(try pair.shakeHands() == .done)
        var (count, answers, failure) = (0, 0, TransferFailure?.none)
        while failure == nil, count < 10_000 {
            try pair.server.updateKeys(asking: areAnswered)
            count += 1
            do {
                try pair.toClient()
                // The server reads none of the answers.
                #expect(try pair.read() == "")
            } catch let error as TransferFailure {
                failure = error
            }
            answers += pair.client.takeOutput().count
        }
        #expect(failure?.code == .recvError && failure?.text.contains("keeps TLS busy") == true)
        #expect(count > 50 && answers <= 8 * 1024)
    }

    @Test("A server that changes keys, sends a byte now and then and reads none of the answers is left as well")
    func interleavedKeyUpdates() throws {
        let pair = try TLSPair(TLSServerEnd())
        #expect(try pair.shakeHands() == .done)
        var (answers, failure) = (0, TransferFailure?.none)
        for count in 0..<10_000 where failure == nil {
            try pair.server.updateKeys(asking: true)
            if count % 100 == 0 { pair.server.write("a") }
            do {
                try pair.toClient()
                _ = try pair.read()
            } catch let error as TransferFailure {
                failure = error
            }
            answers += pair.client.takeOutput().count
        }
        #expect(failure?.text.contains("keeps TLS busy") == true && answers <= 8 * 1024)
    }

    @Test("Keys may be changed for as long as there are bytes in between, even if they come one by one")
    func usefulKeyUpdates() throws {
        let pair = try TLSPair(TLSServerEnd())
        #expect(try pair.shakeHands() == .done)
        // More answers than may lie unsent.
        for count in 0..<5_000 {
            if count % 10 == 0 { try pair.server.updateKeys(asking: count % 20 == 0) }
            pair.server.write("a")
            try pair.toClient()
            #expect(try pair.read() == "a")
            pair.toServer()
            pair.client.noteSent()
        }
    }

    @Test(
        "A certificate for another host, from an untrusted authority, or out of date ends the handshake",
        arguments: versions
    )
    func untrusted(_ version: Int) throws {
        func failure(_ identity: TLSServerEnd.Identity, host: String) throws -> TransferFailure? {
            do {
                _ = try TLSPair(TLSServerEnd(identity, maximumVersion: version), host: host).shakeHands()
                return nil
            } catch let failure as TransferFailure {
                return failure
            }
        }
        let good = TLSServerEnd.Identity()
        #expect(try failure(good, host: "server.test") == nil)
        #expect(try failure(good, host: "SERVER.test.") == nil)
        #expect(try failure(good, host: "192.0.2.1") == nil)
        #expect(try failure(good, host: "other.test")?.verification == X509Result.hostnameMismatch)
        #expect(try failure(good, host: "192.0.2.2")?.verification == X509Result.addressMismatch)
        // Which to OpenSSL stands for all names below "test".
        #expect(try failure(good, host: ".test")?.verification == X509Result.hostnameMismatch)
        let selfSigned = TLSServerEnd.Identity(certificate: TLSSamples.selfSigned, key: TLSSamples.selfSignedKey)
        #expect(
            try failure(selfSigned, host: "server.test").map { X509Result.unknownRoots.contains($0.verification) }
                == true
        )
        #expect(try failure(selfSigned, host: "server.test")?.code == .peerFailedVerification)
    }

    /// Why a handshake with `host` fails that trusts nothing but `certificate`, which is self-signed with `selfSignedKey`; nil if it
    /// succeeds.
    private func verification(_ certificate: String, host: String, _ version: Int) throws -> Int? {
        let identity = TLSServerEnd.Identity(certificate: certificate, key: TLSSamples.selfSignedKey)
        let trust = TrustStore(TrustStore.Content(authorities: [.certificate(try TLSPair.der(certificate))]))
        let pair = try TLSPair(TLSServerEnd(identity, maximumVersion: version), host: host) { $0.trust = trust }
        do {
            #expect(try pair.shakeHands() == .done)
            return nil
        } catch let failure as TransferFailure {
            return failure.verification
        }
    }

    @Test("In a certificate for an address, the subject is no host's name", arguments: versions)
    func subject(_ version: Int) throws {
        #expect(try verification(TLSSamples.address, host: "192.0.2.1", version) == nil)
        #expect(
            try verification(TLSSamples.address, host: "server.test", version) == X509Result.hostnameMismatch
        )
    }

    @Test("In a certificate without names and addresses, the subject is one, also an address", arguments: versions)
    func subjectAddress(_ version: Int) throws {
        #expect(try verification(TLSSamples.subjectAddress, host: "192.0.2.1", version) == nil)
        #expect(
            try verification(TLSSamples.subjectAddress, host: "192.0.2.2", version) == X509Result.addressMismatch
        )
    }

    @Test("A certificate's names may be absolute ones, with a dot at their end", arguments: versions)
    func absolute(_ version: Int) throws {
        for host in ["server.test", "server.test.", "a.wild.test"] {
            #expect(try verification(TLSSamples.absolute, host: host, version) == nil)
        }
        for host in ["a.server.test", "wild.test", "b.a.wild.test"] {
            #expect(try verification(TLSSamples.absolute, host: host, version) == X509Result.hostnameMismatch)
        }
    }

    @Test("A wildcard covers one label, also if there are underscores in the name", arguments: versions)
    func wildcard(_ version: Int) throws {
        for host in ["a.names_of.server.test", "A_B.Names_Of.server.test"] {
            #expect(try verification(TLSSamples.wildcard, host: host, version) == nil)
        }
        for host in ["names_of.server.test", "a.b.names_of.server.test", ".names_of.server.test", "a.server.test"] {
            #expect(try verification(TLSSamples.wildcard, host: host, version) == X509Result.hostnameMismatch)
        }
    }

    @Test("Without verification, any certificate is good", arguments: versions)
    func unverified(_ version: Int) throws {
        let identity = TLSServerEnd.Identity(certificate: TLSSamples.selfSigned, key: TLSSamples.selfSignedKey)
        let pair = try TLSPair(TLSServerEnd(identity, maximumVersion: version), host: "other.test") {
            $0.settings.verifiesServer = false
        }
        #expect(try pair.shakeHands() == .done)
    }

    @Test("A pin must be the key's, even if the certificate is trusted", arguments: versions)
    func pins(_ version: Int) throws {
        let pair = try TLSPair(TLSServerEnd(maximumVersion: version)) {
            $0.settings.publicKeyPins = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=;" + TLSSamples.pin
        }
        #expect(try pair.shakeHands() == .done)
        let other = try TLSPair(TLSServerEnd(maximumVersion: version)) {
            $0.settings.publicKeyPins = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
            $0.settings.verifiesServer = false
        }
        #expect { try other.shakeHands() } throws: { ($0 as? TransferFailure)?.code == .sslPinnedPubKeyNotMatch }
    }

    @Test("Nothing goes out between the question about the server's certificate and its answer", arguments: versions)
    func serverTrust(_ version: Int) throws {
        let identity = TLSServerEnd.Identity(certificate: TLSSamples.selfSigned, key: TLSSamples.selfSignedKey)
        let pair = try TLSPair(TLSServerEnd(identity, maximumVersion: version)) { $0.asks = true }
        let handshake = try pair.shakeHands()
        guard case .asks(.serverTrust(let chain, let result, let reason)) = handshake else {
            Issue.record("no question")
            return
        }
        #expect(try chain == [TLSPair.der(TLSSamples.selfSigned)])
        #expect(result != 0 && !reason.isEmpty)
        #expect(pair.client.takeOutput() == [])
        #expect(try pair.client.shakeHands() == handshake)
        pair.client.trustServer()
        #expect(try pair.shakeHands() == .done)
        try pair.write("hello")
        #expect(pair.server.read() == "hello")
    }

    @Test("Chains that were decided on before bring no question")
    func knownChains() throws {
        let identity = TLSServerEnd.Identity(certificate: TLSSamples.selfSigned, key: TLSSamples.selfSignedKey)
        let accepted = try TLSPair(TLSServerEnd(identity)) {
            $0.asks = true
            $0.decisions.note(.always, in: [try TLSPair.der(TLSSamples.selfSigned)])
        }
        #expect(try accepted.shakeHands() == .done)
        let verified = try TLSPair(TLSServerEnd(identity)) {
            $0.asks = true
            $0.decisions.note(.ifVerified, in: [try TLSPair.der(TLSSamples.selfSigned)])
        }
        #expect(throws: TransferFailure.self) { try verified.shakeHands() }
    }

    @Test("A server that wants a certificate gets the one in the settings", arguments: versions)
    func clientCertificate(_ version: Int) throws {
        let bundle = try #require(Data(base64Encoded: TLSSamples.clientBundle.filter { !$0.isNewline }))
        let identities: [ClientCertificate] = [
            .init(format: .pem, certificates: bytes(TLSSamples.client), key: bytes(TLSSamples.clientKey)),
            .init(format: .pem, certificates: bytes(TLSSamples.client + "\n" + TLSSamples.clientKey)),
            .init(
                format: .pem,
                certificates: bytes(TLSSamples.client),
                key: bytes(TLSSamples.lockedClientKey),
                passphrase: TLSSamples.passphrase
            ),
            .init(format: .pkcs12, certificates: .bytes(Array(bundle)), passphrase: TLSSamples.passphrase),
        ]
        for identity in identities {
            let server = try TLSServerEnd(maximumVersion: version, clientCertificates: .required)
            let pair = try TLSPair(server) { $0.settings.clientCertificate = identity }
            #expect(try pair.shakeHands() == .done)
            #expect(try server.hasClientCertificate())
        }
    }

    @Test("A certificate that can't be used is an error before anything goes out")
    func uselessCertificate() throws {
        let useless: [ClientCertificate] = [
            .init(format: .pem, certificates: bytes("nothing")),
            .init(format: .pem, certificates: bytes(TLSSamples.client), key: bytes(TLSSamples.serverKey)),
            .init(format: .pem, certificates: bytes(TLSSamples.client), key: bytes(TLSSamples.lockedClientKey)),
            .init(format: .pkcs12, certificates: bytes("nothing")),
            .init(format: .pem, certificates: .file("/nonexistent")),
        ]
        for identity in useless {
            #expect { try TLSPair(TLSServerEnd()) { $0.settings.clientCertificate = identity } } throws: {
                ($0 as? TransferFailure)?.code == .sslCertProblem
            }
        }
    }

    @Test(
        "The question about the server comes before the one about the client, whose answer the server sees",
        arguments: versions,
        [true, false]
    )
    func bothQuestions(_ version: Int, _ isShown: Bool) throws {
        let server = try TLSServerEnd(maximumVersion: version, clientCertificates: .wanted)
        let pair = try TLSPair(server) { $0.asks = true }
        guard case .asks(.serverTrust(_, 0, _)) = try pair.shakeHands() else {
            Issue.record("no question about the server")
            return
        }
        pair.client.trustServer()
        #expect(try pair.shakeHands() == .asks(.clientCertificate(authorities: [])))
        let identity = ClientCertificate(
            format: .pem,
            certificates: bytes(TLSSamples.client),
            key: bytes(TLSSamples.clientKey)
        )
        try pair.client.present(isShown ? identity : nil)
        #expect(try pair.shakeHands() == .done)
        #expect(try server.hasClientCertificate() == isShown)
    }

    @Test("Versions and ciphers are those of the settings")
    func settings() throws {
        let old = try TLSPair(TLSServerEnd()) {
            $0.settings.maximumVersion = 0x0303
            $0.settings.cipherList = "ECDHE-ECDSA-AES256-GCM-SHA384"
        }
        #expect(try old.shakeHands() == .done)
        #expect(old.client.session == TLSSession(protocolVersion: 0x0303, cipherSuite: 0xC02C))
        let new = try TLSPair(TLSServerEnd()) { $0.settings.cipherSuites = "TLS_CHACHA20_POLY1305_SHA256" }
        #expect(try new.shakeHands() == .done)
        #expect(new.client.session == TLSSession(protocolVersion: 0x0304, cipherSuite: 0x1303))
        let demanding = try TLSPair(TLSServerEnd(maximumVersion: 0x0303)) { $0.settings.minimumVersion = 0x0304 }
        #expect(throws: TransferFailure.self) { try demanding.shakeHands() }
        #expect(throws: TransferFailure.self) { try TLSPair(TLSServerEnd()) { $0.settings.cipherList = "none" } }
    }

    @Test(
        "Bytes that aren't TLS are an error, and no trap",
        arguments: ["220 hello\r\n", "\u{16}\u{3}\u{3}\u{0}\u{1}\u{7F}", "\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}\u{28}"]
    )
    func noise(_ text: String) throws {
        let pair = try TLSPair(TLSServerEnd())
        _ = try pair.client.shakeHands()
        let bytes =
            text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } + [UInt8](repeating: 0x80, count: 64)
        try bytes.withUnsafeBytes { try pair.client.receive($0) }
        #expect { try pair.client.shakeHands() } throws: { ($0 as? TransferFailure)?.code == .sslConnectError }
    }

    private func bytes(_ text: String) -> ClientCertificate.Source { .bytes(Array(text.utf8)) }
}
