import CurlTransport
import Foundation

/// The file format of stored responses: a header of fixed length, a description of the response, the body.
///
/// Files are untrusted: they may be truncated, written by another program, or another entry's.
enum CacheFile {
    /// "CNCACHE" and the format's version.
    private static let magic: [UInt8] = Array("CNCACHE".utf8) + [1]

    /// The header at the start of a file.
    struct Header: Equatable {
        static let length = 32

        var descriptionLength: Int
        var bodyLength: Int
        var checksum: UInt64

        /// nil if it isn't a header of this version, or doesn't match the file's length.
        init?(_ bytes: UnsafeRawBufferPointer, fileLength: Int) {
            var reader = ByteReader(bytes)
            guard bytes.count == Self.length, bytes.prefix(magic.count).elementsEqual(magic),
                (try? reader.integer(UInt64.self)) != nil, let checksum = try? reader.integer(UInt64.self),
                let description = try? reader.integer(UInt64.self), let body = try? reader.integer(UInt64.self),
                let descriptionLength = Int(exactly: description), let bodyLength = Int(exactly: body),
                descriptionLength <= fileLength - Self.length,
                bodyLength == fileLength - Self.length - descriptionLength
            else { return nil }
            self.descriptionLength = descriptionLength
            self.bodyLength = bodyLength
            self.checksum = checksum
        }

        fileprivate init(description: [UInt8], body: Data) {
            descriptionLength = description.count
            bodyLength = body.count
            checksum = description.withUnsafeBytes { description in
                body.withUnsafeBytes { CacheFile.checksum(description, $0) }
            }
        }

        fileprivate var bytes: [UInt8] {
            var writer = ByteWriter()
            writer.write(checksum)
            writer.write(UInt64(descriptionLength))
            writer.write(UInt64(bodyLength))
            return magic + writer.bytes
        }
    }

    /// The checksum of both parts, including their lengths.
    private static func checksum(_ description: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) -> UInt64 {
        let seed = XXHash64.hash(description, seed: UInt64(body.count))
        return XXHash64.hash(body, seed: seed)
    }

    // MARK: - Writing

    /// The part of the file before the body.
    static func head(of response: StoredResponse) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(response.key)
        writer.write(response.url.absoluteString)
        writer.write(UInt8(clamping: response.storagePolicy.rawValue))
        for date in [response.requested, response.received] {
            writer.write(optional: date) { $0.write($1.timeIntervalSince1970.bitPattern) }
        }
        writer.write(optional: response.variant) { $0.write(list: $1) { $0.write($1) } }
        switch response.form {
        case .http: writer.write(UInt8(0))
        case .other(let form):
            writer.write(UInt8(1))
            writer.write(optional: form.mimeType) { $0.write($1) }
            writer.write(form.expectedLength)
            writer.write(optional: form.textEncoding) { $0.write($1) }
        }
        writer.write(response.head.version)
        writer.write(Int64(response.head.status))
        writer.write(list: Array(response.head.fields)) { $0.write($1) }
        writer.write(response.userInfo)
        return Header(description: writer.bytes, body: response.data).bytes + writer.bytes
    }

    // MARK: - Reading

    /// The response stored for `key`; nil if the file is damaged or for another key.
    static func response(
        for key: String,
        header: Header,
        description: UnsafeRawBufferPointer,
        body: Data
    ) -> StoredResponse? {
        let isSound = body.withUnsafeBytes { checksum(description, $0) } == header.checksum
        guard isSound, let response = try? response(describedBy: description, body: body), response.key == key else {
            return nil
        }
        return response
    }

    /// A description need not be ours, even with the right checksum.
    static func response(
        describedBy description: UnsafeRawBufferPointer,
        body: Data
    ) throws(ByteReader.Malformed) -> StoredResponse {
        var reader = ByteReader(description)
        let response = try reader.response(body)
        guard reader.isAtEnd else { throw ByteReader.Malformed() }
        return response
    }
}

extension ByteWriter {
    fileprivate mutating func write(_ field: HeaderField) {
        write(field.name)
        write(field.value)
    }
}

extension ByteReader {
    fileprivate mutating func response(_ body: Data) throws(Malformed) -> StoredResponse {
        let key = try text()
        let url = try URL(string: text())
        let policy = try URLCache.StoragePolicy(rawValue: UInt(integer(UInt8.self)))
        let requested = try optional { reader throws(Malformed) in try reader.date() }
        let received = try optional { reader throws(Malformed) in try reader.date() }
        let variant = try optional { reader throws(Malformed) in try reader.fields() }
        let form = try form()
        let version = try text()
        let status = try Int(exactly: integer(Int64.self))
        let fields = try fields()
        let userInfo = try data()
        guard let url, let policy, let status else { throw Malformed() }
        return StoredResponse(
            key: key,
            url: url,
            form: form,
            head: ResponseHead(version: version, status: status, fields: fields),
            requested: requested,
            received: received,
            variant: variant,
            data: body,
            storagePolicy: policy,
            userInfo: userInfo
        )
    }

    private mutating func date() throws(Malformed) -> Date {
        let seconds = Double(bitPattern: try integer(UInt64.self))
        // Keeps arithmetic with dates finite.
        guard abs(seconds) < 1e12 else { throw Malformed() }
        return Date(timeIntervalSince1970: seconds)
    }

    private mutating func fields() throws(Malformed) -> [HeaderField] {
        try list { reader throws(Malformed) in HeaderField(name: try reader.text(), value: try reader.text()) }
    }

    private mutating func form() throws(Malformed) -> StoredResponse.Form {
        switch try integer(UInt8.self) {
        case 0:
            return .http
        case 1:
            let mimeType = try optional { reader throws(Malformed) in try reader.text() }
            let length = try integer(Int64.self)
            let encoding = try optional { reader throws(Malformed) in try reader.text() }
            return .other(.init(mimeType: mimeType, expectedLength: length, textEncoding: encoding))
        default:
            throw Malformed()
        }
    }
}
