import CurlNetworking
import Foundation

extension SHA256 {
    /// In bytes.
    private static let pieceLength = 1 << 18

    /// The digest of a file in lowercase hexadecimal. The file is read piece by piece.
    static func digest(ofFile url: URL) throws -> String {
        let file = try FileHandle(forReadingFrom: url)
        defer { try? file.close() }
        var hash = SHA256()
        while let piece = try file.read(upToCount: pieceLength), !piece.isEmpty {
            piece.withUnsafeBytes { hash.update($0) }
        }
        return hash.finish()
    }
}
