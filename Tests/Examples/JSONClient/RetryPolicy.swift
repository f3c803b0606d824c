import CurlNetworking
import Foundation

/// Why a request has no answer.
enum RequestFailure: Error {
    /// The server answered with an error status.
    case status(Int, body: Data, retryAfter: String?)
    /// There was no answer, or not a whole one.
    case transport(URLError)
    /// More than any answer that makes sense.
    case tooLong
}

/// When a failed request gets another attempt, and how long it waits for it.
struct RetryPolicy: Sendable {
    var attempts = 5
    var firstDelay = 0.25
    var longestDelay = 60.0

    /// The seconds to wait before the next attempt; nil to give up.
    func delay(after failure: RequestFailure, of request: URLRequest, attempt: Int) -> Double? {
        guard attempt < attempts, isIdempotent(request) else { return nil }
        switch failure {
        case .status(408, _, let retryAfter), .status(429, _, let retryAfter), .status(502...504, _, let retryAfter):
            guard let wish = retryAfter.flatMap(seconds) else { return backOff(attempt) }
            // A server that wants to be left alone for longer than we can wait is left alone.
            return wish <= longestDelay ? wish : nil
        case .status, .tooLong:
            return nil
        case .transport(let error):
            return isPassing(error.code) ? backOff(attempt) : nil
        }
    }

    /// Twice as long each time, and anything below that: clients that failed together don't come back together.
    private func backOff(_ attempt: Int) -> Double {
        .random(in: 0...min(longestDelay, firstDelay * pow(2, Double(attempt - 1))))
    }

    /// Whether doing it twice is like doing it once (RFC 9110 §9.2.2), be it because the server recognises the key.
    private func isIdempotent(_ request: URLRequest) -> Bool {
        ["GET", "HEAD", "PUT", "DELETE"].contains(request.httpMethod ?? "GET")
            || request.value(forHTTPHeaderField: "Idempotency-Key") != nil
    }

    private func isPassing(_ code: URLError.Code) -> Bool {
        [.timedOut, .networkConnectionLost, .cannotConnectToHost, .cannotFindHost, .badServerResponse].contains(code)
    }

    /// `Retry-After` is a number of seconds, or a date (RFC 9110 §10.2.3).
    private func seconds(_ retryAfter: String) -> Double? {
        if let seconds = UInt(retryAfter) { return Double(seconds) }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        return formatter.date(from: retryAfter).map { max(0, $0.timeIntervalSinceNow) }
    }
}
