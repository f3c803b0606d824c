import Foundation

/// The directives of a `Cache-Control` field (RFC 9111 §5.2), or of a `Pragma` field, which has the same form (§5.4). Of several with the
/// same name, the first counts. An unreadable field counts as `no-store`.
struct CacheDirectives: Equatable, Sendable {
    private var arguments: [String: String] = [:]

    /// `field` is the combined value of all such fields; nil if there is none.
    init(_ field: String?) {
        guard let field else { return }
        guard let elements = ListField.elements(of: field) else {
            arguments["no-store"] = ""
            return
        }
        for directive in elements {
            let equals = directive.utf8.firstIndex(of: UInt8(ascii: "="))
            let name = directive[..<(equals ?? directive.endIndex)].trimmed.lowercased()
            guard !name.isEmpty, arguments[name] == nil else { continue }
            let argument = equals.map { directive[directive.utf8.index(after: $0)...].trimmed } ?? ""
            // Filtering by characters takes quadratic time for some emoji.
            arguments[name] = String(decoding: argument.utf8.filter { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
        }
    }

    /// A directive that lists fields, such as `no-cache="Set-Cookie"`, counts as one without a list, which is always safe.
    func contains(_ name: String) -> Bool {
        arguments[name] != nil
    }

    /// A number of seconds; zero if the directive is there without a valid number, which is the safe reading.
    func seconds(_ name: String) -> TimeInterval? {
        guard let argument = arguments[name] else { return nil }
        guard !argument.isEmpty, argument.utf8.allSatisfy(\.isASCIIDigit) else { return 0 }
        return TimeInterval(min(Int64(argument) ?? .max, Int64(Int32.max)))
    }

    /// Whether the server has to be asked before each use (§5.2.2.4). That includes responses that forbid storing, which only a program or
    /// a protocol class stores.
    var forbidUseUnasked: Bool { contains("no-cache") || contains("no-store") }

    /// Whether the directive is there without an argument.
    func isBare(_ name: String) -> Bool {
        arguments[name] == ""
    }
}
