import Foundation

/// The names of downloads' files in the directory for temporary files: unguessable, and different for what somebody works on and what is kept.
enum TemporaryName: String, CaseIterable {
    /// Belongs to the process that holds the file's lock, and to nobody where none does: see `AbandonedFiles`.
    case active = "CurlNetworkingTransfer_"
    /// Resume data may name it, or a program owns it: only they know when its time is over.
    case kept = "CurlNetworkingDownload_"

    private static let suffix = ".tmp"

    /// A new name, with 128 random bits in it.
    func make() -> String {
        var generator = SystemRandomNumberGenerator()
        let random = (0..<2).map { _ in String(generator.next() as UInt64, radix: 16) }
        return rawValue + random.map { String(repeating: "0", count: 16 - $0.count) + $0 }.joined() + Self.suffix
    }

    /// Whether `name` has this form. Such a name is a file's in its directory, and nothing elsewhere.
    func matches(_ name: String) -> Bool {
        guard name.hasPrefix(rawValue), name.hasSuffix(Self.suffix) else { return false }
        let middle = name.dropFirst(rawValue.count).dropLast(Self.suffix.count).utf8
        return middle.count == 32
            && middle.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            }
    }
}
