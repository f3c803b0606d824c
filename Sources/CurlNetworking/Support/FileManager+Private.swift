import Foundation

extension FileManager {
    /// Creates the folder, and any missing ones above it, for the user alone.
    func createPrivateFolder(atPath path: String) throws {
        try createDirectory(
            atPath: path,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
    }
}
