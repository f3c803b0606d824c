import Foundation

/// A form with fields and files (RFC 7578), which is written as it is sent: no file is ever in memory as a whole.
struct MultipartForm: Sendable {
    enum Piece: Sendable {
        case bytes(Data)
        case file(URL, length: Int)

        var length: Int {
            switch self {
            case .bytes(let data): data.count
            case .file(_, let length): length
            }
        }
    }

    private let boundary = "form-\(UUID().uuidString)"
    private var pieces: [Piece] = []

    var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// Known before the first byte is read, so that the body needn't be sent in chunks.
    var length: Int { pieces.reduce(end.count) { $0 + $1.length } }

    private var end: Data { Data("--\(boundary)--\r\n".utf8) }

    mutating func add(field name: String, value: String) {
        add(head: "name=\"\(Self.quoted(name))\"", .bytes(Data(value.utf8)))
    }

    /// Throws where the file isn't there. What is sent is as long as the file is now.
    mutating func add(field name: String, file: URL) throws {
        // A link stands for its file.
        let attributes = try FileManager.default.attributesOfItem(atPath: file.resolvingSymlinksInPath().path)
        guard attributes[.type] as? FileAttributeType == .typeRegular else { throw CocoaError(.fileReadUnknown) }
        let length = (attributes[.size] as? NSNumber)?.intValue ?? 0
        let fileName = Self.quoted(file.lastPathComponent)
        let head = "name=\"\(Self.quoted(name))\"; filename=\"\(fileName)\"\r\nContent-Type: application/octet-stream"
        add(head: head, .file(file, length: length))
    }

    private mutating func add(head: String, _ content: Piece) {
        let head = "--\(boundary)\r\nContent-Disposition: form-data; \(head)\r\n\r\n"
        pieces += [.bytes(Data(head.utf8)), content, .bytes(Data("\r\n".utf8))]
    }

    /// A new stream of the whole body; there may be several.
    func makeStream() -> InputStream {
        MultipartStream(pieces + [.bytes(end)])
    }

    /// As browsers write names: what would end the name, or the line, is percent-encoded.
    private static func quoted(_ name: String) -> String {
        name.unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case "\"": text += "%22"
            case "\r": text += "%0D"
            case "\n": text += "%0A"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}

/// Reads one piece after the other. Its reader, which is one thread at a time, decides how much is in memory.
private final class MultipartStream: InputStream {
    private struct Shrunk: LocalizedError {
        let file: String
        var errorDescription: String? { "\(file) has become shorter while it was sent." }
    }

    private nonisolated(unsafe) var pieces: ArraySlice<MultipartForm.Piece>
    /// How much of the first piece has been read.
    private nonisolated(unsafe) var offset = 0
    private nonisolated(unsafe) var file: FileHandle?
    private nonisolated(unsafe) var status = Status.notOpen
    private nonisolated(unsafe) var failure: (any Error)?

    init(_ pieces: [MultipartForm.Piece]) {
        self.pieces = pieces[...]
        super.init(data: Data())
    }

    override var streamStatus: Status { status }
    override var streamError: (any Error)? { failure }
    override var hasBytesAvailable: Bool { !pieces.isEmpty }

    override func open() {
        status = .open
    }

    override func close() {
        status = .closed
        pieces = []
        file = nil
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength count: Int) -> Int {
        do {
            while let piece = pieces.first {
                let bytes = try read(piece, atMost: min(count, piece.length - offset))
                if !bytes.isEmpty {
                    bytes.copyBytes(to: buffer, count: bytes.count)
                    offset += bytes.count
                    return bytes.count
                }
                pieces.removeFirst()
                (offset, file) = (0, nil)
            }
            return 0
        } catch {
            (failure, status) = (error, .error)
            return -1
        }
    }

    /// Empty at the piece's end.
    private func read(_ piece: MultipartForm.Piece, atMost count: Int) throws -> Data {
        switch piece {
        case .bytes(let data):
            return data.dropFirst(offset).prefix(count)
        case .file(let url, _):
            let file = try file ?? FileHandle(forReadingFrom: url)
            self.file = file
            let data = try file.read(upToCount: count) ?? Data()
            guard count == 0 || !data.isEmpty else { throw Shrunk(file: url.path) }
            return data
        }
    }
}
