import CurlNetworking
import Foundation

/// `negotiate none|session|default METHOD URL…`: loads one after the other, with 5,000 bytes if the method is POST, and answers challenges
/// for Negotiate with an empty credential of this persistence, or leaves them to the default handling. Others are answered with user and
/// secret. Says "asked METHOD FAILURES", and "STATUS TEXT" or "error CODE".
enum NegotiateCommand {
    static func run(_ arguments: [String]) async {
        guard arguments.count > 2 else { return Parent.say("negotiate none|session|default METHOD URL…") }
        let session = URLSession(configuration: .ephemeral, delegate: TicketHolder(arguments[0]), delegateQueue: nil)
        for index in stride(from: 1, to: arguments.count - 1, by: 2) {
            guard let url = URL(string: arguments[index + 1]) else { return Parent.say("no URL") }
            var request = URLRequest(url: url)
            request.httpMethod = arguments[index]
            if arguments[index] == "POST" { request.httpBody = Data(count: 5000) }
            do {
                let (data, response) = try await session.data(for: request)
                let status = (response as? HTTPURLResponse)?.statusCode ?? 0
                Parent.say("\(status) \(String(decoding: data, as: UTF8.self))")
            } catch {
                Parent.say("error \((error as? URLError)?.code.rawValue ?? 0)")
            }
        }
    }

    final class TicketHolder: NSObject, URLSessionTaskDelegate {
        private let persistence: URLCredential.Persistence?

        init(_ persistence: String) {
            self.persistence = ["none": .none, "session": .forSession][persistence]
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            let method = challenge.protectionSpace.authenticationMethod
            Parent.say("asked \(method.dropFirst("NSURLAuthenticationMethod".count)) \(challenge.previousFailureCount)")
            guard let persistence else { return (.performDefaultHandling, nil) }
            let isNegotiate = method == NSURLAuthenticationMethodNegotiate
            let (user, password) = isNegotiate ? ("", "") : ("user", "secret")
            return (.useCredential, URLCredential(user: user, password: password, persistence: persistence))
        }
    }
}
