import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlTransport

@Suite("TLS for an FTP server's data", .timeLimit(.minutes(1)))
struct FTPHandshakeTests {
    /// libcurl's own limit would be five minutes.
    @Test("A server that is silent instead of shaking hands keeps the loop no longer than the options say")
    func silentHandshake() async throws {
        let control = try await TalkingTLSServer()
        defer { control.stop() }
        let data = try SilentServer()
        defer { data.stop() }
        let transfer = RecordedTransfer()
        let url = control.url.absoluteString.replacingOccurrences(of: "https", with: "ftps") + "file"
        var options = FTPOptions(url: url, direction: .download(offset: 0))
        options.handshakeTimeout = .seconds(2)
        var tls = TLSSettings()
        tls.verifiesServer = false
        options.connection = ConnectionProfile([tls])
        try await LoopRig.use { [options] rig in
            try await rig.perform { multi in try transfer.start(options, in: multi) }
            async let conversation: Void = converse(with: control, dataPort: data.port)
            // For `CurlQuirks.missesFTPEvents`, which `FTPTransfer` takes care of otherwise.
            while !transfer.finished.isOpen { try await rig.perform { $0.runAll() } }
            try await conversation
        }
        #expect(transfer.failure?.code == .operationTimedOut)
    }

    /// Says what leads a client to the handshake.
    private func converse(with control: TalkingTLSServer, dataPort port: Int) async throws {
        let replies = [
            // s_server says this when the first handshake is over.
            "CIPHER is": "220 Hello",
            "USER": "230 Hello", "PBSZ": "200 0", "PROT": "200 Private", "PWD": "257 \"/\"",
            "EPSV": "229 Here (|||\(port)|)",
            "TYPE": "200 Yes", "SIZE": "213 5", "MDTM": "500 What?", "REST": "350 Yes", "RETR": "150 Opening (5 bytes)",
        ]
        while let line = await control.line() {
            guard let command = replies.keys.first(where: line.hasPrefix) else { continue }
            control.say(replies[command] ?? "")
            if command == "RETR" { return }
        }
    }
}
