import Foundation
import Glibc

/// The body of an interrupted upload, or where it is, until another task continues with it.
///
/// Resume data is untrusted. If it could name any file, or say where one goes, an attacker who can write some could have this user's files
/// sent to any server. So it contains the bytes, or the name of a private file that says both: see `KeptUpload`.
enum KeptBody: Codable, Equatable, Sendable {
    case bytes(Data)
    /// The private file contains a `KeptUpload`.
    case file(PartialFile)
    /// The program's delegate is asked for it.
    case stream

    /// The body that it stands for.
    enum Content: Sendable {
        case data(Data)
        /// One of this module's private files.
        case file(UploadedFile, PartialFile)
        /// The program's file, as it was when its upload began.
        case programFile(UploadedFile)
        case stream
    }

    /// The most bytes that resume data contains.
    static let maximumBytes = 64 * 1024

    /// Writes a body that is too large into a file in `directory`. Blocks.
    init(_ data: Data, for destination: UploadDestination, in directory: URL) throws(URLError) {
        guard data.count > Self.maximumBytes else {
            self = .bytes(data)
            return
        }
        let body = try KeptUpload.write(data, as: .body, in: directory)
        do throws(URLError) {
            self = try Self(KeptUpload(destination: destination, body: .ours(body)), in: directory)
        } catch {
            body.remove(in: directory, as: .body)
            throw error
        }
    }

    /// Writes `upload` into a file in `directory`. Blocks.
    init(_ upload: KeptUpload, in directory: URL) throws(URLError) {
        self = .file(try upload.write(in: directory))
    }

    /// Whether it may be the body of an upload of `length` bytes.
    func isPlausible(length: Int64?) -> Bool {
        switch self {
        case .bytes(let data): data.count <= Self.maximumBytes && Int64(data.count) == length
        case .file(let file): length != nil && KeptUpload.isPlausible(file)
        case .stream: true
        }
    }

    /// Throws if its file is gone from `directory`, isn't the one that was written, or is for another destination. Blocks for the time that
    /// takes.
    func content(for destination: UploadDestination, in directory: URL) throws(URLError) -> Content {
        switch self {
        case .bytes(let data):
            return .data(data)
        case .stream:
            return .stream
        case .file(let file):
            guard let upload = KeptUpload(file, in: directory), upload.destination == destination else {
                throw Self.gone(destination.request)
            }
            switch upload.body {
            case .program(let file):
                return .programFile(file)
            case .ours(let partial):
                guard let descriptor = partial.open(in: directory, as: .body) else {
                    throw Self.gone(destination.request)
                }
                defer { close(descriptor) }
                let url = directory.appendingPathComponent(partial.name, isDirectory: false)
                guard let file = UploadedFile(url) else { throw Self.gone(destination.request) }
                return .file(file, partial)
            }
        }
    }

    /// The error of an upload to `url`.
    static func gone(_ url: URL?) -> URLError {
        URLError(.cannotOpenFile, url: url, "The interrupted upload's body isn't there any more.")
    }

    /// Deletes its files. Blocks.
    ///
    /// - Parameter keepsBody: Whether another one has the same body.
    func remove(in directory: URL, keepsBody: Bool = false) {
        guard case .file(let file) = self else { return }
        if !keepsBody, case .ours(let body) = KeptUpload(file, in: directory)?.body {
            body.remove(in: directory, as: .body)
        }
        file.remove(in: directory, as: .upload)
    }
}
