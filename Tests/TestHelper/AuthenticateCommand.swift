import CurlNetworking
import Foundation

/// `authenticate USER PASSWORD URL…`: loads one after the other, answers challenges, follows redirects but those to "?stay", and
/// says what it was asked and what came of it: "asked proxy|server HOST PORT REALM METHOD FAILURES", "follows STATUS to PATH",
/// then "STATUS TEXT" or "error CODE".
enum AuthenticateCommand {
    static func run(_ arguments: [String]) async {
        guard arguments.count > 2 else { return Parent.say("authenticate USER PASSWORD URL…") }
        let delegate = Answering(user: arguments[0], password: arguments[1])
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        for argument in arguments.dropFirst(2) {
            guard let url = URL(string: argument) else { return Parent.say("no URL: \(argument)") }
            do {
                let (data, response) = try await session.data(from: url)
                let status = (response as? HTTPURLResponse)?.statusCode ?? 0
                Parent.say("\(status) \(String(decoding: data, as: UTF8.self))")
            } catch {
                Parent.say("error \((error as? URLError)?.code.rawValue ?? 0)")
            }
        }
    }

    private final class Answering: NSObject, URLSessionTaskDelegate {
        private let user: String
        private let password: String

        init(user: String, password: String) {
            self.user = user
            self.password = password
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest
        ) async -> URLRequest? {
            let follows = request.url?.query() != "stay"
            Parent.say("\(follows ? "follows" : "refuses") \(response.statusCode) to \(request.url?.path() ?? "")")
            return follows ? request : nil
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            let space = challenge.protectionSpace
            let party = space.isProxy() ? "proxy" : "server"
            let method = space.authenticationMethod.replacing("NSURLAuthenticationMethod", with: "")
            Parent.say(
                "asked \(party) \(space.host) \(space.port) \(space.realm ?? "-") \(method) "
                    + "\(challenge.previousFailureCount)"
            )
            completionHandler(.useCredential, URLCredential(user: user, password: password, persistence: .forSession))
        }
    }
}
