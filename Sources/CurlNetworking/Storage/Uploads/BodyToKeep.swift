import Foundation

/// A body on its way into resume data.
enum BodyToKeep: Sendable {
    case data(Data)
    case program(UploadedFile)
    /// Already in a private file.
    case ours(PartialFile)

    /// Blocks.
    func keep(for destination: UploadDestination, in directory: URL) throws(URLError) -> KeptBody {
        switch self {
        case .data(let data):
            return try KeptBody(data, for: destination, in: directory)
        case .program(let file):
            return try KeptBody(KeptUpload(destination: destination, body: .program(file)), in: directory)
        case .ours(let file):
            guard file.isThere(as: .body) else { throw KeptBody.gone(destination.request) }
            return try KeptBody(KeptUpload(destination: destination, body: .ours(file)), in: directory)
        }
    }

    var isKeptAlready: Bool { if case .ours = self { true } else { false } }
}

extension UploadResumeData {
    /// The data with `body`, which is kept in `directory` instead of `old`; nil, and `old` stays, if that fails. Blocks.
    func encoded(with body: BodyToKeep, insteadOf old: KeptBody? = nil, in directory: URL) -> Data? {
        guard let kept = try? body.keep(for: destination, in: directory) else { return nil }
        var resumeData = self
        resumeData.body = kept
        guard let encoded = resumeData.encoded() else {
            kept.remove(in: directory, keepsBody: body.isKeptAlready)
            return nil
        }
        old?.remove(in: directory, keepsBody: body.isKeptAlready)
        return encoded
    }
}
