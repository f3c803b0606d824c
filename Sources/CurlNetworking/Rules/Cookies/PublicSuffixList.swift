import Foundation

/// The domains below which anyone can register a name, such as "com", "co.uk" and "github.io". No cookie may be set for them (RFC 6265
/// §5.3, <https://publicsuffix.org/list/>).
struct PublicSuffixList: Sendable {
    private var rules: Set<String> = []
    /// Parents of "*.parent".
    private var wildcards: Set<String> = []
    private var exceptions: Set<String> = []

    /// Where distributions install the list. On Debian and Ubuntu it is in the package `publicsuffix`, which libcurl's libpsl recommends.
    private static let systemFile = URL(fileURLWithPath: "/usr/share/publicsuffix/public_suffix_list.dat")

    /// Read from the system's file on first use, which takes some milliseconds: never on a loop.
    static let system = PublicSuffixList(contentsOf: systemFile)

    /// nil if the file can't be read.
    init?(contentsOf file: URL) {
        guard let content = try? Data(contentsOf: file), let text = String(validating: content, as: UTF8.self) else {
            return nil
        }
        self.init(text)
    }

    init(_ text: String) {
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            guard let first = line.first, !line.starts(with: "//".utf8) else { continue }
            let rule = Substring(line.prefix { !Self.isSpace($0) })
            switch first {
            case UInt8(ascii: "!"): except(Punycode.asciiDomain(rule.dropFirst()))
            case UInt8(ascii: "*"): wildcards.insert(Punycode.asciiDomain(rule.dropFirst(2)))
            case let byte where Self.isSpace(byte): continue
            default: rules.insert(Punycode.asciiDomain(rule))
            }
        }
    }

    /// The parent is the public suffix of the hosts below `domain`. It is that of no others, as each of its other children is one itself.
    private mutating func except(_ domain: String) {
        exceptions.insert(domain)
        if let parent = domain.parentDomain { rules.insert(String(parent)) }
    }

    /// - Parameter domain: In lower case and ASCII.
    func contains(_ domain: String) -> Bool {
        guard let parent = domain.parentDomain else { return true }
        if exceptions.contains(domain) { return false }
        return rules.contains(domain) || wildcards.contains(String(parent))
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte <= 0x20
    }

    // MARK: - The system's list

    /// By the system's list, or a guess without it. Never on a loop.
    static func isSuffix(_ domain: String) -> Bool {
        system?.contains(domain) ?? isProbablySuffix(domain)
    }

    /// The registered part of `host`: a public suffix and one more label. An address, or a public suffix, is its own site. On a loop only
    /// once `system` has been read.
    static func site(of host: String, isSuffix: (String) -> Bool = Self.isSuffix) -> String {
        guard !CookieMatching.isAddress(host), !isSuffix(host) else { return host }
        var site = host[...]
        while let parent = site.parentDomain, !isSuffix(String(parent)) { site = parent }
        return String(site)
    }

    // MARK: - Without the list

    /// A guess without a list: top-level domains, and the usual second-level domains of countries.
    static func isProbablySuffix(_ domain: String) -> Bool {
        let labels = domain.split(separator: ".", omittingEmptySubsequences: false)
        switch labels.count {
        case 0, 1: return true
        case 2: return labels[1].utf8.count == 2 && countryCategories.contains(String(labels[0]))
        default: return false
        }
    }

    private static let countryCategories: Set<String> = [
        "ac", "co", "com", "edu", "gob", "gouv", "gov", "govt", "go", "id", "info", "int", "mil", "ne", "net", "nom",
        "or", "org", "ltd", "plc", "sch",
    ]
}
