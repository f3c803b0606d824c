import Foundation

/// Makes file names from untrusted text.
enum FileName {
    /// In bytes. File systems allow 255; this leaves room for `.resume` and for numbering duplicates.
    private static let longest = 200
    private static let fallback = "untitled"

    /// The name of a plain file in its directory, whatever `text` contains: no separators, no control or formatting characters, not hidden,
    /// not too long, and not that of a file that pauses a download or an upload.
    static func sanitised(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
            switch scalar {
            case "/", "\\", ":": "-"
            case _ where scalar.properties.generalCategory == .control: " "
            default: scalar
            }
        }.filter { $0.properties.generalCategory != .format && $0.properties.generalCategory != .privateUse }
        let words = String(String.UnicodeScalarView(scalars)).split(whereSeparator: \.isWhitespace)
        // Not by characters: to Swift, a dot and an accent after it are one.
        let name = words.joined(separator: " ").unicodeScalars.drop { $0 == "." || $0 == " " }
        let (stem, suffix) = split(String(name))
        let short = joined(stem, suffix)
        guard let ending = reserved.first(where: { short.lowercased().hasSuffix($0) }) else {
            return short.isEmpty ? fallback : short
        }
        return String(short.dropLast(ending.count)) + "-" + short.suffix(ending.count - 1)
    }

    /// The endings of those files.
    private static let reserved = [PauseFile.suffix, UploadPauseFolder.suffix]

    /// Shortens `stem` if the two are too long. Not always between characters, since a single one can be too long.
    private static func joined(_ stem: String, _ rest: String) -> String {
        var short = String.UnicodeScalarView()
        var length = rest.utf8.count
        for scalar in stem.unicodeScalars {
            length += UTF8.width(scalar)
            guard length <= longest else { break }
            short.append(scalar)
        }
        while short.last == " " { short.removeLast() }
        return String(short) + rest
    }

    /// The part before the last dot, and the rest from that dot on. A long one isn't an extension, and isn't split off.
    private static func split(_ name: String) -> (stem: String, suffix: String) {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex, name[dot...].utf8.count <= 11 else {
            return (name, "")
        }
        return (String(name[..<dot]), String(name[dot...]))
    }

    /// The last part of the URL's path.
    static func of(_ url: URL) -> String {
        sanitised(url.pathComponents.last { $0 != "/" } ?? url.host ?? "")
    }

    /// `Artist - Title`, with the preview's extension.
    static func of(_ track: Track, preview: URL) -> String {
        let suffix = preview.pathExtension.lowercased()
        let isPlain = (1...5).contains(suffix.count) && suffix.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        return sanitised("\(track.artistName) - \(track.trackName)\(isPlain ? "." + suffix : "")")
    }

    /// The name of the file from `url` beside those of `items`: the one that an item from there has, or else `name`, numbered if one from
    /// elsewhere has it.
    static func distinct(_ name: String, for url: URL, beside items: [DownloadItem]) -> String {
        let own = items.filter { $0.url == url }.map(\.fileName).filter { sanitised($0) == $0 }
        if let first = own.first { return own.contains(name) ? name : first }
        return distinct(name, from: Set(items.map(\.fileName)))
    }

    /// `name`, numbered if it is taken, and no longer than `longest`.
    static func distinct(_ name: String, from taken: Set<String>) -> String {
        guard taken.contains(name) else { return name }
        let (stem, suffix) = split(name)
        let candidates = (2...).lazy.map { joined(stem, " (\($0))\(suffix)") }
        return candidates.first { !taken.contains($0) } ?? name
    }
}
