/// What the path of an FTP URL asks for (RFC 1738 §3.2.2), percent-encoded and with or without the host before it.
package struct FTPPath {
    /// All but the type code.
    package let name: Substring
    /// The type code; nil if there is none.
    let type: Substring?

    package init(_ text: Substring) {
        let code = text.firstRange(of: ";type=")
        name = text[..<(code?.lowerBound ?? text.endIndex)]
        type = code.map { text[$0.upperBound...] }
    }

    /// Whether the type code asks for the names in a folder.
    package var listsNames: Bool { type?.lowercased().hasPrefix("d") ?? false }

    /// Whether it ends in what libcurl takes for a file's name.
    package var endsInName: Bool { name.contains("/") && !name.hasSuffix("/") && !name.lowercased().hasSuffix("%2f") }
}
