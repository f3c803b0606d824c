import Foundation

/// The domains below which anybody can have one, such as "com", "co.uk" and "github.io": no cookie is for all of them
/// (RFC 6265 §5.3, <https://publicsuffix.org/list/>).
struct PublicSuffixList: Sendable {
    private var rules: Set<String> = []
    /// Parents of "*.parent".
    private var wildcards: Set<String> = []
    private var exceptions: Set<String> = []

    /// Where distributions keep the list: on Debian and Ubuntu it is in the package `publicsuffix`, which libcurl's own
    /// libpsl recommends.
    private static let systemFile = URL(fileURLWithPath: "/usr/share/publicsuffix/public_suffix_list.dat")

    /// Read from the system's file when first used: some milliseconds, so never on a loop.
    static let system = PublicSuffixList(contentsOf: systemFile)

    /// nil without the file.
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
            case UInt8(ascii: "!"): exceptions.insert(Punycode.asciiDomain(rule.dropFirst()))
            case UInt8(ascii: "*"): wildcards.insert(Punycode.asciiDomain(rule.dropFirst(2)))
            case let byte where Self.isSpace(byte): continue
            default: rules.insert(Punycode.asciiDomain(rule))
            }
        }
    }

    /// `domain` in lower case, its labels encoded as hosts are.
    func contains(_ domain: String) -> Bool {
        guard let dot = domain.firstIndex(of: ".") else { return true }
        if exceptions.contains(domain) { return false }
        return rules.contains(domain) || wildcards.contains(String(domain[domain.index(after: dot)...]))
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte <= 0x20
    }

    // MARK: - Without the list

    /// What is known without a list: top-level domains, and the names under which countries register the rest.
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
