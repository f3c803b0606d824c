import Curl
import Foundation

/// The responses made last, for answers that are the same to the letter. Loop only.
///
/// A collector that acknowledges, a queue that is empty, a small file: a server that is asked for the same thing thousands of times a
/// second answers with the same head as long as its clock shows the same second. Making an `HTTPURLResponse` costs more than all else
/// that happens to such a task on our side of libcurl; nobody can change one, and so all of these tasks can show the same.
struct ResponseShelf {
    private struct Entry {
        let head: ResponseHead
        let response: HTTPURLResponse
    }

    private var entries: [URL: Entry] = [:]
    /// Until when they are of use; nil before the first.
    private var end: MonotonicTime?

    /// What is older will hardly come again.
    private static let lifetime = Duration.seconds(1)
    /// A crawler never asks for the same thing twice.
    private static let capacity = 64
    /// In bytes, roughly.
    private static let largestHead = 4096

    /// The response to show for `head`, which has come for a request of `url`. nil where there is none that it could be.
    mutating func response(for head: ResponseHead, at url: URL, now: MonotonicTime) -> HTTPURLResponse? {
        if end.map({ now > $0 }) ?? true {
            entries.removeAll(keepingCapacity: true)
            end = now + Self.lifetime
        }
        let entry = entries[url]
        if let entry, entry.head.isSame(as: head) { return entry.response }
        let response = HTTPURLResponse(head, at: url)
        if let response, head.isASCII, head.size <= Self.largestHead, entry != nil || entries.count < Self.capacity {
            entries[url] = Entry(head: head, response: response)
        }
        return response
    }
}

extension ResponseHead {
    fileprivate var isASCII: Bool { fields.allSatisfy { $0.name.isASCII && $0.value.isASCII } }

    fileprivate var size: Int { fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count } }

    /// Whether both are the same to the letter, of which the receiver is ASCII. Equality alone would take the Kelvin sign for a K, but
    /// what is longer than one byte is ASCII to nobody.
    fileprivate func isSame(as other: ResponseHead) -> Bool {
        status == other.status && version == other.version && fields.count == other.fields.count
            && fields.indices.allSatisfy { index in
                let (mine, others) = (fields[index], other.fields[index])
                return mine == others && mine.value.utf8.count == others.value.utf8.count
                    && mine.name.utf8.count == others.name.utf8.count
            }
    }
}

extension HTTPURLResponse {
    /// nil where the head makes no sense.
    convenience init?(_ head: ResponseHead, at url: URL) {
        self.init(url: url, statusCode: head.status, httpVersion: head.version, headerFields: head.decodedFields)
    }
}
