import CurlNetworking
import Foundation

/// `negotiate none|session|default SECONDS METHOD URL…`: loads one after the other with this time-out, and with 5,000 bytes if the method is
/// POST. Answers challenges for Negotiate with an empty credential of this persistence, or leaves them to the default handling; answers
/// others with user and secret. Says "asked METHOD FAILURES", with the version if the server names it, and "STATUS TEXT" or "error CODE".
///
/// `negotiate-beside URL OTHER`: begins to load URL, and answers likewise. Told "others", loads OTHER in the same session and in more
/// sessions than there are event loops, and says "others STATUS…"; told "cancel", cancels the first, and says "error CODE".
enum NegotiateCommand {
    static func run(_ arguments: [String]) async {
        guard arguments.count > 3, let seconds = TimeInterval(arguments[1]) else {
            return Parent.say("negotiate none|session|default SECONDS METHOD URL…")
        }
        let session = URLSession(configuration: .ephemeral, delegate: TicketHolder(arguments[0]), delegateQueue: nil)
        for index in stride(from: 2, to: arguments.count - 1, by: 2) {
            guard let url = URL(string: arguments[index + 1]) else { return Parent.say("no URL") }
            var request = URLRequest(url: url)
            request.timeoutInterval = seconds
            request.httpMethod = arguments[index]
            if arguments[index] == "POST" { request.httpBody = Data(count: 5000) }
            Parent.say(await result(of: request, in: session))
        }
    }

    static func runBeside(_ arguments: [String]) async {
        guard arguments.count == 2, let url = URL(string: arguments[0]), let other = URL(string: arguments[1]) else {
            return Parent.say("negotiate-beside URL OTHER")
        }
        let session = URLSession(configuration: .ephemeral, delegate: TicketHolder("session"), delegateQueue: nil)
        let task = Task { Parent.say(await result(of: URLRequest(url: url), in: session)) }
        for await line in Parent.lines {
            switch line {
            case "others":
                let sessions = [session] + (0..<8).map { _ in URLSession(configuration: .ephemeral) }
                let statuses = await withTaskGroup(of: Substring.self) { group in
                    for session in sessions {
                        group.addTask { await result(of: URLRequest(url: other), in: session).prefix { $0 != " " } }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                Parent.say("others \(statuses.joined(separator: " "))")
            default:
                task.cancel()
                return await task.value
            }
        }
    }

    private static func result(of request: URLRequest, in session: URLSession) async -> String {
        do {
            let (data, response) = try await session.data(for: request)
            return "\((response as? HTTPURLResponse)?.statusCode ?? 0) \(String(decoding: data, as: UTF8.self))"
        } catch {
            return "error \((error as? URLError)?.code.rawValue ?? 0)"
        }
    }

    private final class TicketHolder: NSObject, URLSessionTaskDelegate {
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
            guard method != NSURLAuthenticationMethodServerTrust else { return (.performDefaultHandling, nil) }
            let response = challenge.failureResponse as? HTTPURLResponse
            let version = response?.value(forHTTPHeaderField: "X-Protocol").map { " over \($0)" } ?? ""
            let name = method.dropFirst("NSURLAuthenticationMethod".count)
            Parent.say("asked \(name) \(challenge.previousFailureCount)\(version)")
            guard let persistence else { return (.performDefaultHandling, nil) }
            let isNegotiate = method == NSURLAuthenticationMethodNegotiate
            let (user, password) = isNegotiate ? ("", "") : ("user", "secret")
            return (.useCredential, URLCredential(user: user, password: password, persistence: persistence))
        }
    }
}
