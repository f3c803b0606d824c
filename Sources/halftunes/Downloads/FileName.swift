import Foundation

/// Makes file names from untrusted text.
enum FileName {
    /// In bytes. File systems allow 255; this leaves room for `.resume` and for numbering duplicates.
    private static let longest = 200
    private static let fallback = "untitled"

    /// The name of a plain file in its directory, whatever `text` contains: no separators, no control or formatting characters, not hidden,
    /// not too long.
    static func sanitised(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
            switch scalar {
            case "/", "\\", ":": "-"
            case _ where scalar.properties.generalCategory == .control: " "
            default: scalar
            }
        }.filter { $0.properties.generalCategory != .format && $0.properties.generalCategory != .privateUse }
        let words = String(String.UnicodeScalarView(scalars)).split(whereSeparator: \.isWhitespace)
        let name = words.joined(separator: " ").drop { $0 == "." || $0 == " " }
        let short = shortened(String(name))
        return short.isEmpty ? fallback : short
    }

    /// Cuts the part before the extension.
    private static func shortened(_ name: String) -> String {
        var (stem, suffix) = split(name)
        while !stem.isEmpty, stem.utf8.count + suffix.utf8.count > longest { stem.removeLast() }
        return stem + suffix
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

    /// `name`, numbered if it is taken.
    static func distinct(_ name: String, from taken: Set<String>) -> String {
        guard taken.contains(name) else { return name }
        let (stem, suffix) = split(name)
        let candidates = (2...).lazy.map { "\(stem) (\($0))\(suffix)" }
        return candidates.first { !taken.contains($0) } ?? name
    }
}
