import Foundation

extension FileManager {
    /// Makes the folder, and those above it that aren't there yet, for the user alone.
    func createPrivateFolder(atPath path: String) throws {
        try createDirectory(
            atPath: path,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
    }
}
