import Foundation

// A body of the type multipart/x-mixed-replace, for a delegate: a server sends one part after the other, and each replaces the one before.
// The delegate gets a response and the bytes of each. On the loop, within libcurl, but for what says otherwise.

/// Takes such a body apart, and knows what its parts' responses have from the whole one.
struct BodyParts {
    var parser: PartParser
    /// Its status, and its fields but for those that describe the body.
    private var common: ResponseHead

    /// nil where the body is of another type.
    init?(_ whole: ResponseHead) {
        guard let parser = whole["Content-Type"].flatMap(PartParser.init(contentType:)) else { return nil }
        self.parser = parser
        common = whole
        common.fields.removeAll { field in
            field.name.lowercased().hasPrefix("content-")
                || field.name.isEqualIgnoringASCIICase(to: "Transfer-Encoding")
        }
    }

    /// The head of a part with these fields of its own.
    func head(_ fields: [HeaderField]) -> ResponseHead {
        var head = common
        head.fields.removeAll { field in fields.contains { $0.name.isEqualIgnoringASCIICase(to: field.name) } }
        head.fields += fields
        return head
    }
}

extension TaskRunner {
    /// Handlers, files and readers get the body as it is.
    func beginParts(of head: ResponseHead) {
        loading.parts = nil
        guard case .stream = loading.destination, tellsOfItsResult else { return }
        loading.parts = BodyParts(head)
    }

    func receiveParts(_ body: UnsafeRawBufferPointer) throws(URLError) {
        guard var parts = loading.parts else { return }
        let events: [PartParser.Event]
        do throws(PartParser.HeadTooLarge) {
            events = try parts.parser.parse(body)
        } catch {
            throw partError("The head of a part is larger than \(PartParser.largestHead) bytes.")
        }
        loading.parts = parts
        try deliver(events, of: parts)
    }

    /// The body is over.
    func finishParts() {
        guard var parts = loading.parts else { return }
        loading.parts = nil
        try? deliver(parts.parser.finish(), of: parts)
    }

    private func deliver(_ events: [PartParser.Event], of parts: BodyParts) throws(URLError) {
        for event in events {
            switch event {
            case .part(let fields): try beginPart(parts.head(fields))
            case .body(let bytes): bytes.withUnsafeBytes { stream($0) }
            }
        }
    }

    private func beginPart(_ head: ResponseHead) throws(URLError) {
        let begun = shared.withLock { shared -> (schedules: Bool, isFull: Bool)? in
            let begun = shared.mailbox.beginPart(head)
            if begun?.isFull == true { _ = shared.machine.setBacklogged(true) }
            return begun
        }
        guard let begun else { throw partError("The server sends parts faster than the delegate takes them.") }
        if begun.schedules { scheduleDeliveryAtEndOfRound() }
    }

    private func partError(_ description: String) -> URLError {
        URLError(.cannotParseResponse, shared.withLock { $0.currentRequest?.url }, description)
    }

    /// Makes the response of a part that begins, and shows it as the task's. Delegate queue.
    func showPart(_ head: ResponseHead) -> URLResponse? {
        guard let url = shared.withLock({ $0.currentRequest?.url }),
            let part = HTTPURLResponse(
                url: url,
                statusCode: head.status,
                httpVersion: head.version,
                headerFields: head.combinedFields
            )
        else { return nil }
        shared.withLock { $0.response = part }
        return part
    }
}
