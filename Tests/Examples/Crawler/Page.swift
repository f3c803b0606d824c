import Foundation

/// What a crawler wants of an HTML page: its title, and where it leads.
struct Page: Sendable {
    let title: String?
    let links: [URL]

    /// - Parameter url: Where the page is, which its links may be relative to.
    init(html: String, url: URL) {
        // What stands in comments and scripts is neither a title nor a link. What isn't closed goes to the end: no page makes
        // the expressions look for its end again and again.
        let text = html.replacing(#/(?s)<!--.*?(?:-->|\z)|<(?i:script|style)\b.*?(?:</(?i:script|style)|\z)/#, with: "")
        title = text.firstMatch(of: #/(?s)<(?i:title)\b[^<>]*>(.*?)(?:</(?i:title)|\z)/#).map { match in
            Self.decoded(match.1).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        let anchor = #/<(?i:a)\s[^<>]*?\b(?i:href)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))/#
        links = text.matches(of: anchor).compactMap { match in
            let reference = match.1 ?? match.2 ?? match.3 ?? ""
            return URL(string: Self.decoded(reference), relativeTo: url)?.absoluteURL.withoutFragment
        }
    }

    private static let entities: [Substring: String] = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "nbsp": " "]

    /// With character references replaced: those by number, and the common names.
    private static func decoded(_ text: Substring) -> String {
        String(text).replacing(#/&(?:#(?<decimal>\d{1,7})|#[xX](?<hex>[0-9a-fA-F]{1,6})|(?<name>\w+));/#) { match in
            if let name = match.name { return entities[name] ?? String(match.0) }
            let code = match.decimal.flatMap { UInt32($0) } ?? match.hex.flatMap { UInt32($0, radix: 16) }
            return code.flatMap(Unicode.Scalar.init).map { String(Character($0)) } ?? "\u{fffd}"
        }
    }
}

extension URL {
    /// The fragment is the browser's business: with and without it, it is the same page.
    var withoutFragment: URL? {
        var components = URLComponents(url: self, resolvingAgainstBaseURL: true)
        components?.fragment = nil
        return components?.url
    }
}
