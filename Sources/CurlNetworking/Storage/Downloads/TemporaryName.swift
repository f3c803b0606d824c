import Foundation

/// The names of private files in the directory for temporary files: unguessable, and different for each purpose. Resume data is untrusted,
/// and must not pass a file off as one for another purpose: a download's file was written by a server.
package enum TemporaryName: String, CaseIterable {
    /// Owned by the process that holds the file's lock; abandoned if none does: see `AbandonedFiles`.
    case active = "CurlNetworkingTransfer_"
    /// Named by resume data, or owned by a program: nothing else can tell when to remove it.
    case kept = "CurlNetworkingDownload_"
    /// The body of an interrupted upload, named by a file of the next kind.
    case body = "CurlNetworkingBody_"
    /// What an interrupted upload sends, and where to: a `KeptUpload`, named by resume data.
    case upload = "CurlNetworkingUpload_"

    private static let suffix = ".tmp"

    /// A new name, with 128 random bits.
    func make() -> String { rawValue + UInt128.random(in: .min ... .max).paddedHex + Self.suffix }

    /// Whether `name` has this form. Such a name can't lead out of its directory.
    package func matches(_ name: String) -> Bool {
        guard name.hasPrefix(rawValue), name.hasSuffix(Self.suffix) else { return false }
        let middle = name.dropFirst(rawValue.count).dropLast(Self.suffix.count).utf8
        return middle.count == 32 && middle.allSatisfy(\.isLowercaseHexDigit)
    }
}
