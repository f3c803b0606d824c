import CurlTransport
import Foundation

/// Hands the body to a delegate as it arrives, once the delegate has allowed the response.
///
/// A multipart/x-mixed-replace body is split: the delegate gets a response for each part, and the part's bytes. It is split only once the
/// delegate has allowed the response, which may become a download or a stream: these get the body as it is.
///
/// `@unchecked Sendable`: loop only.
final class DelegateSink: Sink, @unchecked Sendable {
    private enum Body {
        /// Delivered as it is.
        case undivided
        /// Delivered as it is, where it waits for the delegate's answer.
        case undecided(BodyParts, isComplete: Bool)
        case divided(BodyParts)
    }

    private unowned let owner: any SinkOwner
    private let dividesParts: Bool
    private var body = Body.undivided
    private(set) var accepted: AcceptedResponse?

    /// - Parameter dividesParts: Whether a multipart/x-mixed-replace body is split at all.
    init(_ owner: any SinkOwner, dividesParts: Bool = true) {
        self.owner = owner
        self.dividesParts = dividesParts
    }

    var bufferSize: Int? { ReceiveBuffer.small }

    func begin(_ response: AcceptedResponse) {
        accepted = response
        let parts = dividesParts ? response.head.flatMap { BodyParts($0, at: response.request?.url) } : nil
        body = parts.map { .undecided($0, isComplete: false) } ?? .undivided
        owner.ask(about: response.response, dividing: parts == nil ? nil : self)
    }

    /// The delegate has allowed the response. `pieces` are those of the body that were delivered and taken back.
    func divide(_ pieces: [Data]) throws(URLError) {
        guard case .undecided(let parts, let isComplete) = body else { return }
        body = .divided(parts)
        for piece in pieces {
            try piece.withBytes { bytes throws(URLError) in try deliver(bytes, of: parts) }
        }
        if isComplete { complete() }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(URLError) {
        guard case .divided(let parts) = body else { return owner.deliver(bytes) }
        owner.count(Int64(bytes.count), isTold: false)
        try deliver(bytes, of: parts)
    }

    private func deliver(_ bytes: UnsafeRawBufferPointer, of parts: BodyParts) throws(URLError) {
        for event in try parts.parse(bytes) {
            switch event {
            case .part(let fields): try owner.beginPart(try parts.begin(with: fields))
            case .body(let bytes): bytes.withUnsafeBytes { owner.deliver(counted: $0) }
            }
        }
    }

    func complete() {
        switch body {
        case .undivided: break
        case .undecided(let parts, _): body = .undecided(parts, isComplete: true)
        case .divided(let parts): parts.finish()?.withUnsafeBytes { owner.deliver(counted: $0) }
        }
    }
}

/// A multipart body that is being split, and the part of the whole response that its parts' responses share. Loop only.
final class BodyParts {
    private var parser: PartParser
    private let url: URL?
    /// The status, and the fields except those that describe the body.
    private let common: ResponseHead
    /// How many fields beyond `ordinaryFields` the responses of all parts have had. Each takes time, while a part takes only a few bytes.
    private var surplus = 0

    private static let ordinaryFields = 100
    private static let maximumSurplus = 1_000_000

    /// nil if the body has another type.
    init?(_ whole: ResponseHead, at url: URL?) {
        guard let parser = Self.parser(of: whole) else { return nil }
        self.parser = parser
        self.url = url
        var common = whole
        common.fields.removeAll { field in
            field.name.lowercased().hasPrefix("content-")
                || field.name.isEqualIgnoringASCIICase(to: "Transfer-Encoding")
        }
        self.common = common
    }

    private static func parser(of whole: ResponseHead) -> PartParser? {
        whole["Content-Type"].flatMap(PartParser.init(contentType:))
    }

    /// Whether the body after that head is one that a delegate gets in parts.
    static func canDivide(_ whole: ResponseHead) -> Bool { parser(of: whole) != nil }

    /// Begins a part, which has these fields.
    func begin(with fields: [HeaderField]) throws(URLError) -> PartHead {
        surplus += max(0, common.fields.count - Self.ordinaryFields)
        guard surplus <= Self.maximumSurplus else {
            throw URLError(
                .cannotParseResponse,
                url: url,
                "The response has too many fields to repeat them for so many parts."
            )
        }
        return PartHead(common: common, fields: fields)
    }

    func parse(_ bytes: UnsafeRawBufferPointer) throws(URLError) -> [PartParser.Event] {
        do throws(PartParser.HeadTooLarge) {
            return try parser.parse(bytes)
        } catch {
            throw URLError(
                .cannotParseResponse,
                url: url,
                "The head of a part has more than \(PartParser.maximumLines) lines or \(PartParser.largestHead) bytes."
            )
        }
    }

    /// The last part's bytes that were held back; nil if there are none.
    func finish() -> [UInt8]? {
        parser.finish()
    }
}
