import Foundation

/// The content of a `data:` URL (RFC 2397): `data:[<mediatype>][;base64],<data>`.
struct DataURL: Equatable {
    /// Without parameters.
    var mimeType: String
    /// The media type's `charset`, if there is one.
    var charset: String?
    var content: Data

    /// Throws `badURL` if the URL is malformed.
    init(_ url: URL) throws(URLError) {
        // A fragment isn't part of the data (RFC 3986 §3.5); a query is.
        let text = url.absoluteString.prefix { $0 != "#" }
        guard let colon = text.firstIndex(of: ":"), let comma = text.firstIndex(of: ",") else {
            throw URLError(.badURL, url: url, "The data URL has no comma before its data.")
        }
        // `URL(string:)` has encoded spaces and quotes.
        var parameters = text[text.index(after: colon)..<comma].split(
            separator: ";",
            omittingEmptySubsequences: false
        ).map { ($0.removingPercentEncoding ?? String($0)).trimmingCharacters(in: .whitespaces) }
        let isBase64 = parameters.count > 1 && parameters.last?.isEqualIgnoringASCIICase(to: "base64") == true
        if isBase64 { parameters.removeLast() }
        (mimeType, charset) = Self.mediaType(parameters)

        guard let bytes = Self.percentDecoded(text[text.index(after: comma)...]) else {
            throw URLError(.badURL, url: url, "The data URL has a broken percent-encoding.")
        }
        guard isBase64 else {
            content = Data(bytes)
            return
        }
        guard let decoded = Self.base64Decoded(bytes) else {
            throw URLError(.badURL, url: url, "The data URL's data is not valid base64.")
        }
        content = decoded
    }

    /// The default is plain text in US-ASCII. Parameters may follow an omitted type, but not one that is malformed: then none of them counts
    /// (RFC 2397, section 2; RFC 2045, section 5.2).
    private static func mediaType(_ parts: [String]) -> (type: String, charset: String?) {
        let charset = parts.dropFirst().lazy.compactMap { parameter -> String? in
            let pair = parameter.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, String(pair[0]).isEqualIgnoringASCIICase(to: "charset") else { return nil }
            return pair[1].trimmingCharacters(in: CharacterSet(charactersIn: "\""))
        }.first
        let type = parts.first ?? ""
        if isMediaType(type) { return (type.lowercased(), charset) }
        let isOmitted = type.isEmpty && parts.count > 1
        return ("text/plain", isOmitted ? charset : "US-ASCII")
    }

    /// "type/subtype", both tokens.
    private static func isMediaType(_ text: String) -> Bool {
        let halves = text.split(separator: "/", omittingEmptySubsequences: false)
        return halves.count == 2 && halves.allSatisfy { FieldSyntax.isToken($0) }
    }

    private static func percentDecoded(_ text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let escaped = rest.popEscape() else { return nil }
            bytes.append(escaped)
        }
        return bytes
    }

    /// Accepts white space and missing padding, as browsers do.
    private static func base64Decoded(_ bytes: [UInt8]) -> Data? {
        var characters = bytes.filter { ![0x09, 0x0a, 0x0c, 0x0d, 0x20].contains($0) }
        if characters.count % 4 == 0 {
            for _ in 0..<2 where characters.last == UInt8(ascii: "=") { characters.removeLast() }
        }
        guard characters.count % 4 != 1, !characters.contains(UInt8(ascii: "=")) else { return nil }
        characters += Array(repeating: UInt8(ascii: "="), count: (4 - characters.count % 4) % 4)
        return Data(base64Encoded: Data(characters))
    }
}
