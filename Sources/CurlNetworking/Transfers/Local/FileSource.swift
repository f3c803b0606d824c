import CurlTransport
import Foundation
import Glibc

/// A local file (RFC 8089), read piece by piece. It is an error if the file becomes shorter meanwhile; bytes that it grows by aren't read.
final class FileSource: LocalSource {
    private let url: URL
    private var descriptor: Int32 = -1
    private var position: Int64 = 0
    /// nil if the system doesn't know it until the file has been read, as below `/proc` and `/sys`.
    private var length: Int64?

    /// In bytes.
    private static let pieceSize = 256 * 1024

    init(_ url: URL) {
        self.url = url
    }

    func open() throws(URLError) -> URLResponse {
        if let fault = url.faultAsFile { throw URLError(.badURL, url: url, "The URL \(fault).") }
        let status: stat
        do throws(FileFault) {
            (descriptor, status) = try ReadableFile.open(url.path)
        } catch {
            throw failure(error)
        }
        length = try? DescriptorBytes.knownLength(of: descriptor, status).get()
        return URLResponse(
            url: url,
            mimeType: MIMEType.guess(forPath: url.path),
            expectedContentLength: Int(length ?? NSURLSessionTransferSizeUnknown),
            textEncodingName: nil
        )
    }

    func read() throws(URLError) -> Data? {
        let wanted = Int(min(Int64(Self.pieceSize), length.map { $0 - position } ?? .max))
        guard wanted > 0 else { return nil }
        var piece = Data(count: wanted)
        let count = piece.withUnsafeMutableBytes { buffer in
            uninterrupted { pread(descriptor, buffer.baseAddress, wanted, off_t(position)) }
        }
        guard count >= 0 else { throw failure(.unreadable(.current)) }
        guard count > 0 else {
            guard length == nil else {
                throw URLError(.cannotOpenFile, url: url, "The file became shorter while it was read.")
            }
            return nil
        }
        position += Int64(count)
        return count == wanted ? piece : piece.prefix(count)
    }

    func close() {
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }

    private func failure(_ fault: FileFault) -> URLError {
        URLError(fault.code, url: url, "The file \(fault.problem).", cause: fault.systemError)
    }
}
