import CurlNetworkingLoopbackServer
import Foundation

/// A server's side of NTLM.
package enum NTLM {
    /// The server's part of the conversation, a "type 2" message with a made-up challenge ([MS-NLMP] §2.2.1.2).
    package static let question: String = {
        var message = Data("NTLMSSP\0".utf8)
        message += [2, 0, 0, 0]  // the type
        message += [0, 0, 0, 0, 56, 0, 0, 0]  // no target name
        message += [0x01, 0x82, 0x08, 0x00]  // Unicode, NTLM, always sign, extended session security
        message += [1, 2, 3, 4, 5, 6, 7, 8]  // the challenge
        message += Array(repeating: 0, count: 8)
        message += [0, 0, 0, 0, 56, 0, 0, 0]  // no target information
        message += Array(repeating: 0, count: 8)
        return message.base64EncodedString()
    }()

    /// What kind of message a request shows: 1 to negotiate, 3 to authenticate.
    package static func kind(_ request: LoopbackServer.Request) -> Int? {
        message(request).map { Int($0[8]) }
    }

    package static func message(_ request: LoopbackServer.Request) -> Data? {
        guard let shown = request.header("Authorization"), shown.hasPrefix("NTLM ") else { return nil }
        return Data(base64Encoded: String(shown.dropFirst(5))).flatMap { $0.count > 12 ? $0 : nil }
    }
}
