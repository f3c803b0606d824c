import CCurlNetworkingLinux
import CurlTransport
import Foundation
import Glibc

/// A regular file that is open for reading as long as this object exists. Any thread.
final class ReadableFile: Sendable {
    /// As it was when it was opened.
    let description: UploadedFile
    private let descriptor: Int32

    /// In bytes.
    var length: Int64 { description.length }

    /// Opens the file at `url`. Blocks for as long as that takes. Errors are about `requestURL`, and name the file.
    init(_ url: URL, for requestURL: URL? = nil) throws(URLError) {
        if let refusal = Self.refusal(of: url, for: requestURL) { throw refusal }
        let (descriptor, status): (Int32, stat)
        do throws(FileFault) {
            (descriptor, status) = try Self.open(url.path)
        } catch {
            throw Self.error(error, url.path, for: requestURL)
        }
        if let refusal = Self.refusal(of: descriptor, status, url.path, for: requestURL) {
            close(descriptor)
            throw refusal
        }
        self.descriptor = descriptor
        description = UploadedFile(url, status)
    }

    /// Opens the regular file at `path`. Blocks for as long as that takes. The caller closes it.
    static func open(_ path: String) throws(FileFault) -> (descriptor: Int32, status: stat) {
        var status = stat()
        // Opening a pipe would release a process that waits to write to it.
        guard stat(path, &status) == 0 else { throw .unreadable(.current) }
        if let fault = FileFault(status) { throw fault }
        // Without O_NONBLOCK, opening what has become a pipe would wait for its other end.
        let descriptor = uninterrupted { Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard descriptor >= 0 else { throw .unreadable(.current) }
        if let fault = fstat(descriptor, &status) == 0 ? FileFault(status) : .unreadable(.current) {
            close(descriptor)
            throw fault
        }
        return (descriptor, status)
    }

    /// Why the file at `url` can't be an upload's, whatever is there; nil if it can.
    static func refusal(of url: URL, for requestURL: URL?) -> URLError? {
        guard url.isFileURL else {
            return URLError(.fileDoesNotExist, url: requestURL, "The URL of an upload's file isn't a file URL: \(url).")
        }
        return url.faultAsFile.map { URLError(.badURL, url: requestURL, "The URL of an upload's file \($0): \(url).") }
    }

    /// Why a file without a known length can't be sent; nil for any other. Blocks.
    private static func refusal(
        of descriptor: Int32,
        _ status: stat,
        _ path: String,
        for requestURL: URL?
    ) -> URLError? {
        switch DescriptorBytes.knownLength(of: descriptor, status) {
        case .success(.some):
            return nil
        case .success(.none):
            let problem = "has an unknown length: upload its content as data or as a stream"
            return error(.cannotOpenFile, path, problem, for: requestURL)
        case .failure(let cause):
            return error(.unreadable(cause), path, for: requestURL)
        }
    }

    /// Closing a file is slow on some file systems.
    deinit {
        let descriptor = descriptor
        WorkThreads.namedFiles.run { close(descriptor) }
    }

    /// Reads what the system has in memory from `offset` on into `buffer`. Returns the number of bytes; nil if it has none, can't tell, or
    /// fails. Never blocks.
    func readAtOnce(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
        var part = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
        let count = uninterrupted { preadv2(descriptor, &part, 1, off_t(offset), RWF_NOWAIT) }
        return count > 0 ? count : nil
    }

    /// The same, in memory or not; 0 at the file's end. Blocks.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Result<Int, SystemError> {
        let count = uninterrupted { pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
        return count < 0 ? .failure(.current) : .success(count)
    }

    /// The error for a problem with the open file.
    ///
    /// - Parameter problem: What the file does, or is.
    func error(_ problem: String, _ cause: SystemError?, for requestURL: URL?) -> URLError {
        Self.error(.cannotOpenFile, description.path, problem, cause, for: requestURL)
    }

    /// Why the upload's file at `path` can't be sent.
    static func error(_ fault: FileFault, _ path: String, for requestURL: URL?) -> URLError {
        error(fault.code, path, fault.problem, fault.systemError, for: requestURL)
    }

    private static func error(
        _ code: URLError.Code,
        _ path: String,
        _ problem: String,
        _ cause: SystemError? = nil,
        for requestURL: URL?
    ) -> URLError {
        let description = "The upload's file \(path) \(problem)."
        return URLError(code, url: requestURL, description, cause: cause, details: [NSFilePathErrorKey: path])
    }
}
