import Foundation

/// The directives of a `Cache-Control` field (RFC 9111 §5.2). Of several with the same name, the first counts. What can't be read is
/// `no-store`.
struct CacheDirectives: Equatable, Sendable {
    private var arguments: [String: String] = [:]

    /// `field` is the combined value of all such fields; nil if there is none.
    init(_ field: String?) {
        guard let field else { return }
        guard let elements = Self.elements(of: field) else {
            arguments["no-store"] = ""
            return
        }
        for directive in elements {
            let equals = directive.utf8.firstIndex(of: UInt8(ascii: "="))
            let name = directive[..<(equals ?? directive.endIndex)].trimmed.lowercased()
            guard !name.isEmpty, arguments[name] == nil else { continue }
            let argument = equals.map { directive[directive.utf8.index(after: $0)...].trimmed } ?? ""
            arguments[name] = argument.filter { $0 != "\"" }
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

    /// Whether the server has to be asked before each use (§5.2.2.4). So it has for what forbids storing, which only a program or a protocol class
    /// stores.
    var forbidUseUnasked: Bool { contains("no-cache") || contains("no-store") }

    /// Whether the directive is there without an argument.
    func isBare(_ name: String) -> Bool {
        arguments[name] == ""
    }

    /// The elements of a comma-separated list; commas in quotes don't separate (RFC 9110 §5.6.1). nil for more than `maximumElements`, and
    /// for quotes that don't end.
    static func elements(of field: String) -> [Substring]? {
        let mayBeSeveral = field.utf8.contains { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") }
        guard mayBeSeveral else { return [field[...]] }
        var (isQuoted, isEscaped) = (false, false)
        let elements = field.utf8.split(maxSplits: maximumElements) { byte in
            // In quotes, a backslash takes its meaning from the next byte (§5.6.4).
            if isEscaped {
                isEscaped = false
                return false
            }
            switch byte {
            case UInt8(ascii: "\\"): isEscaped = isQuoted
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ","): return !isQuoted
            default: break
            }
            return false
        }
        return isQuoted || elements.count > maximumElements ? nil : elements.map { Substring($0) }
    }

    /// Of any list. Only a hostile server sends more, and lists are read on the event loop, a stored response's at each look-up.
    static let maximumElements = 100

    /// The names in a comma-separated list, in lower case; none for nil. nil where there are no `elements`.
    static func names(in field: String?) -> [String]? {
        guard let field else { return [] }
        return elements(of: field)?.map { $0.trimmed.lowercased() }.filter { !$0.isEmpty }
    }
}

extension Substring {
    /// Without leading and trailing spaces and tabs (RFC 9110 §5.6.3).
    var trimmed: Substring {
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard let first = utf8.firstIndex(where: { !isSpace($0) }), let last = utf8.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return self[first...last]
    }
}
