import Foundation

/// The outcome of a read.
enum StreamReading: Sendable, Equatable {
    /// Fewer bytes than the minimum only at the end.
    case read(Data, isAtEnd: Bool)
    /// With the bytes that arrived before, which later reads don't get.
    case failed(StreamFailure, Data)
}

/// Why a read or a write failed.
enum StreamFailure: Error, Sendable, Equatable {
    case timedOut
    /// The minimum, which is at least 1, is above the maximum.
    case invalidLength
    /// The program has closed the read side.
    case readClosed
    /// The program has closed the write side.
    case writeClosed
    /// The program has captured the streams.
    case captured
    /// The task has failed.
    case task(URLError)
}

extension StreamFailure {
    /// Whether bytes that arrived before the task ended for this reason can still be read.
    var leavesBytes: Bool {
        if case .task(let error) = self { error.code != .cancelled } else { false }
    }

    /// The error for a reader or a writer of the task for `url`.
    func error(about url: URL?) -> URLError {
        switch self {
        case .timedOut: URLError(.timedOut, url: url, "The read or write took longer than its time-out.")
        case .invalidLength:
            URLError(
                .dataLengthExceedsMaximum,
                url: url,
                "The most that is to be read is less than the least, or than 1."
            )
        case .readClosed: URLError(.networkConnectionLost, url: url, "The stream's read side is closed.")
        case .writeClosed: URLError(.networkConnectionLost, url: url, "The stream's write side is closed.")
        case .captured: URLError(.networkConnectionLost, url: url, "The task's streams were captured.")
        case .task(let error): error
        }
    }
}
