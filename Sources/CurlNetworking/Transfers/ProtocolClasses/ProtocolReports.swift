import Foundation

/// The reports of a program's own `URLProtocol` that its task hasn't taken yet, put into an order a task can follow, whatever the class's
/// own order was. A value.
///
/// One response comes first, then data, and one end comes last. Of several responses the first counts. Data that arrives before it waits
/// for it, and a class that ends without a response gets a plain one: many mocks do either. Anything after the end is dropped.
struct ProtocolReports {
    enum Report {
        case response(URLResponse, URLCache.StoragePolicy)
        case cachedResponseIsValid(CachedURLResponse)
        case data(Data)
        case challenge(URLAuthenticationChallenge)
        /// Also an end: another load follows. Instead of a response, not after one.
        case redirect(URLRequest, URLResponse)
        case finished
        case failed(URLError)
    }

    /// The next thing to tell the task.
    enum Step {
        /// nil if the class reported none.
        case response(URLResponse?, URLCache.StoragePolicy)
        case data(Data)
        case challenge(URLAuthenticationChallenge)
        case redirect(URLRequest, URLResponse)
        case ended(URLError?)
    }

    private var steps: [Step] = []
    /// The index of the next report; earlier ones were taken.
    private var position = 0
    private var hasResponse = false
    /// Whether the class has reported the load's end.
    private(set) var hasEnded = false
    /// Data that arrived before the response.
    private var early: [Data] = []
    private var valid: CachedURLResponse?

    /// In bytes. A task may stop reading the body at any time, so it gets large data in pieces.
    private static let pieceSize = 256 * 1024

    mutating func append(_ report: Report) {
        guard !hasEnded else { return }
        switch report {
        case .response(let response, let policy): takeResponse(response, policy)
        case .cachedResponseIsValid(let response): valid = valid ?? response
        case .data(let data): if hasResponse { steps.append(.data(data)) } else { early.append(data) }
        case .challenge(let challenge): steps.append(.challenge(challenge))
        case .redirect(let request, let response):
            end(hasResponse ? .ended(Self.lateRedirect(request)) : .redirect(request, response))
        case .finished:
            if let valid, early.isEmpty, !hasResponse {
                early = [valid.data]
                takeResponse(valid.response, .notAllowed)
            }
            takeResponse(nil, .notAllowed)
            end(.ended(nil))
        case .failed(let error): end(.ended(error))
        }
    }

    /// Later data would be added to what the task already has.
    private static func lateRedirect(_ request: URLRequest) -> URLError {
        URLError(.badServerResponse, url: request.url, "A protocol class has reported a redirect after a response.")
    }

    private mutating func takeResponse(_ response: URLResponse?, _ policy: URLCache.StoragePolicy) {
        guard !hasResponse else { return }
        hasResponse = true
        steps.append(.response(response, policy))
        for data in early { steps.append(.data(data)) }
        early = []
    }

    private mutating func end(_ step: Step) {
        hasEnded = true
        early = []
        steps.append(step)
    }

    /// Called when the class takes `challenge` back: if the task hasn't taken it yet, it never will.
    mutating func withdraw(_ challenge: URLAuthenticationChallenge) {
        let rest = steps[position...].filter { step in
            if case .challenge(let other) = step { other !== challenge } else { true }
        }
        steps.replaceSubrange(position..., with: rest)
    }

    mutating func next() -> Step? {
        guard position < steps.count else { return nil }
        if case .data(let data) = steps[position], data.count > Self.pieceSize {
            steps[position] = .data(data.dropFirst(Self.pieceSize))
            return .data(data.prefix(Self.pieceSize))
        }
        defer { forgetTaken() }
        return steps[position]
    }

    /// Drops taken reports once they are the larger part, so that each report moves only once.
    private mutating func forgetTaken() {
        position += 1
        guard position * 2 >= steps.count else { return }
        steps.removeFirst(position)
        position = 0
    }
}
