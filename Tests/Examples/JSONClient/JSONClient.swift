import CurlNetworking
import CurlNetworkingExampleSupport
import Foundation

/// A to-do list that a server keeps, at `BASE-URL/tasks`.
@main
struct JSONClient {
    static let usage = """
        usage: curlnetworking-json-client [--timeout SECONDS] [--attempts N] BASE-URL list
               curlnetworking-json-client [--timeout SECONDS] [--attempts N] BASE-URL add TITLE
               curlnetworking-json-client [--timeout SECONDS] [--attempts N] BASE-URL done ID
        """

    struct Item: Codable, Sendable {
        var id: Int
        var title: String
        var isDone: Bool
    }

    struct NewItem: Encodable, Sendable { var title: String }
    struct Change: Encodable, Sendable { var isDone: Bool }

    /// What a server says about an error (RFC 9457).
    struct Problem: Decodable { var title: String }

    static func main() async {
        var (timeout, attempts) = (10.0, 5)
        var rest = CommandLine.arguments.dropFirst()
        while let option = rest.first, option.hasPrefix("--") {
            rest = rest.dropFirst()
            if option == "--timeout", let seconds = rest.popFirst().flatMap(Double.init), seconds > 0 {
                timeout = seconds
            } else if option == "--attempts", let number = rest.popFirst().flatMap(Int.init), number > 0 {
                attempts = number
            } else {
                fail(usage, code: 64)
            }
        }
        let words = Array(rest)
        guard words.count >= 2, let base = URL(string: words[0]), base.host != nil else { fail(usage, code: 64) }
        let client = APIClient(base: base, timeout: timeout, retries: RetryPolicy(attempts: attempts))
        do {
            let found = try await untilInterrupted { try await items(Array(words.dropFirst()), client) }
            guard let found else { fail(usage, code: 64) }
            for item in found { say("\(item.isDone ? "[x]" : "[ ]") \(item.id) \(item.title)") }
        } catch is CancellationError {
            fail("interrupted", code: 130)
        } catch {
            fail(describe(error))
        }
    }

    /// Does what the words say; nil where they say nothing.
    static func items(_ words: [String], _ client: APIClient) async throws -> [Item]? {
        switch (words[0], words.count) {
        case ("list", 1): return try await client.get("tasks")
        case ("add", 2): return [try await client.create("tasks", NewItem(title: words[1]))]
        case ("done", 2): return [try await client.change("tasks/\(words[1])", Change(isDone: true))]
        default: return nil
        }
    }

    static func describe(_ error: any Error) -> String {
        switch error {
        case RequestFailure.status(let status, let body, _):
            let problem = try? JSONDecoder().decode(Problem.self, from: body)
            return "the server refused: \(status) \(problem?.title ?? "")"
        case RequestFailure.transport(let error):
            return "no answer: \(error.localizedDescription)"
        case RequestFailure.tooLong:
            return "the server's answer is too long"
        case is DecodingError:
            return "the server's answer is not what this program knows: \(error)"
        default:
            return "\(error)"
        }
    }
}
