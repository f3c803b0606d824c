import Foundation

/// Hands the body to a delegate as it arrives, once the delegate has allowed the response.
///
/// A multipart/x-mixed-replace body is split: the delegate gets a response for each part, and the part's bytes.
final class DelegateSink: Sink {
    private unowned let owner: any SinkOwner
    private var parts: BodyParts?

    init(_ owner: any SinkOwner) {
        self.owner = owner
    }

    /// libcurl reads up to 101 buffers before it can be paused.
    var bufferSize: Int? { 16 * 1024 }

    func begin(_ response: AcceptedResponse) {
        owner.ask(about: response.response)
        parts = response.head.flatMap { BodyParts($0, at: response.request?.url) }
    }

    var isDivided: Bool { parts != nil }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(URLError) {
        guard let parts else { return owner.deliver(bytes) }
        for event in try parts.parse(bytes) {
            switch event {
            case .part(let fields): try owner.beginPart(PartHead(common: parts.common, fields: fields))
            case .body(let bytes): bytes.withUnsafeBytes { owner.deliver($0) }
            }
        }
    }

    func complete() {
        guard let parts, let rest = parts.finish() else { return }
        self.parts = nil
        rest.withUnsafeBytes { owner.deliver($0) }
    }
}

/// A multipart body that is being split, and the part of the whole response that its parts' responses share. Loop only.
final class BodyParts {
    private var parser: PartParser
    private let url: URL?
    /// The status, and the fields except those that describe the body.
    private(set) var common: ResponseHead

    /// nil if the body has another type.
    init?(_ whole: ResponseHead, at url: URL?) {
        guard let parser = whole["Content-Type"].flatMap(PartParser.init(contentType:)) else { return nil }
        self.parser = parser
        self.url = url
        common = whole
        common.fields.removeAll { field in
            field.name.lowercased().hasPrefix("content-")
                || field.name.isEqualIgnoringASCIICase(to: "Transfer-Encoding")
        }
    }

    func parse(_ bytes: UnsafeRawBufferPointer) throws(URLError) -> [PartParser.Event] {
        do throws(PartParser.HeadTooLarge) {
            return try parser.parse(bytes)
        } catch {
            throw URLError(
                .cannotParseResponse,
                url,
                "The head of a part is larger than \(PartParser.largestHead) bytes."
            )
        }
    }

    /// The last part's bytes that were held back; nil if there are none.
    func finish() -> [UInt8]? {
        parser.finish()
    }
}
