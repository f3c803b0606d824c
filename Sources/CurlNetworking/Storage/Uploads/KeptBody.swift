import Foundation
import Glibc

/// The body of an interrupted upload, or where it is, until another task continues with it.
///
/// Resume data is untrusted. If it could name any file, whoever can write some could have this user's files sent to a server of theirs. So it
/// contains the bytes, or the name of a private file of ours, which contains them or says where they are: nobody else can make such a file.
enum KeptBody: Codable, Equatable, Sendable {
    case bytes(Data)
    case file(PartialFile)
    /// The private file describes the program's file.
    case reference(PartialFile)
    /// The program's delegate is asked for it.
    case stream

    /// What it stands for.
    enum Content: Sendable {
        case data(Data)
        case file(UploadedFile)
        /// The program's file, as it was when its upload began.
        case programFile(UploadedFile)
        case stream
    }

    /// The most bytes that resume data contains.
    static let mostBytes = 64 * 1024
    /// Of a description, in bytes: the longest path, in XML, and some numbers.
    private static let mostDescribed = 64 * 1024

    /// Writes what is too large into a file in `directory`. Blocks.
    init(_ data: Data, in directory: URL) throws(URLError) {
        self = data.count <= Self.mostBytes ? .bytes(data) : .file(try Self.write(data, in: directory))
    }

    /// Writes the description into a file in `directory`. Blocks.
    init(_ file: UploadedFile, in directory: URL) throws(URLError) {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        guard let description = try? encoder.encode(file), description.count <= Self.mostDescribed else {
            throw URLError(.cannotWriteToFile, file.url, "The file can't be described.")
        }
        self = .reference(try Self.write(description, in: directory))
    }

    private static func write(_ data: Data, in directory: URL) throws(URLError) -> PartialFile {
        let file = try DownloadFile(in: directory)
        do throws(URLError) {
            try data.withUnsafeBytes { bytes in Result { () throws(URLError) in try file.write(bytes) } }.get()
        } catch {
            file.remove()
            throw error
        }
        guard let kept = file.keep() else {
            throw URLError(.cannotWriteToFile, directory, "The upload's body could not be kept.")
        }
        return kept
    }

    /// Throws if its file has gone from `directory`, or isn't the one that was written. Blocks for the time that takes.
    func content(in directory: URL) throws(URLError) -> Content {
        switch self {
        case .bytes(let data):
            return .data(data)
        case .stream:
            return .stream
        case .file(let partial):
            guard let descriptor = partial.open(in: directory) else { throw Self.gone }
            close(descriptor)
            let url = directory.appendingPathComponent(partial.name, isDirectory: false)
            guard let file = UploadedFile(url) else { throw Self.gone }
            return .file(file)
        case .reference(let partial):
            guard partial.length <= Self.mostDescribed, let descriptor = partial.open(in: directory) else {
                throw Self.gone
            }
            defer { close(descriptor) }
            var description = Data(count: Int(partial.length))
            let filled = description.withUnsafeMutableBytes { DescriptorBytes.read(descriptor, into: $0) }
            guard case .success(description.count) = filled,
                UntrustedPropertyList.isHarmless(description, containers: 4),
                let file = try? PropertyListDecoder().decode(UploadedFile.self, from: description)
            else { throw Self.gone }
            return .programFile(file)
        }
    }

    private static var gone: URLError {
        URLError(.cannotOpenFile, nil, "The interrupted upload's body isn't there any more.")
    }

    /// Deletes its file. Blocks.
    func remove(in directory: URL) {
        switch self {
        case .file(let file), .reference(let file): file.remove(in: directory)
        case .bytes, .stream: break
        }
    }
}
