import Foundation

/// Property lists that another program may have written.
///
/// Foundation's reader overflows the stack on deep nesting, and traps on some binary lists and on numbers that aren't UTF-8; such data
/// never reaches it. So whatever is read back is written as XML in UTF-8, and with a limit on its arrays and dictionaries.
package enum UntrustedPropertyList {
    package struct Limits: Sendable {
        /// Of the whole list.
        package let bytes: Int
        /// The most arrays and dictionaries, and so the deepest nesting.
        let containers: Int

        package init(bytes: Int, containers: Int) {
            (self.bytes, self.containers) = (bytes, containers)
        }
    }

    /// Encodes `value` for `decode`; nil if it can't be encoded, or is too large.
    package static func encode(_ value: some Encodable, _ limits: Limits) -> Data? {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        guard let data = try? encoder.encode(value), data.count <= limits.bytes else { return nil }
        return data
    }

    /// nil for data that is beyond the limits, or isn't a `Value`.
    package static func decode<Value: Decodable>(_ data: Data, _ limits: Limits) -> Value? {
        guard data.count <= limits.bytes, isHarmless(data, containers: limits.containers) else { return nil }
        return try? PropertyListDecoder().decode(Value.self, from: data)
    }

    /// - Parameter maximum: The most arrays and dictionaries, and so the deepest nesting.
    static func isHarmless(_ data: Data, containers maximum: Int) -> Bool {
        guard data.starts(with: "<?xml".utf8) else { return false }
        return data.withUnsafeBytes { bytes in
            guard let text = String(validating: bytes, as: UTF8.self), isUTF8(declaredBy: text) else { return false }
            var containers = 0
            for index in bytes.indices where bytes[index] == UInt8(ascii: "<") {
                let tag = bytes[(index + 1)...]
                if ["dict", "array", "plist"].contains(where: { tag.starts(with: $0.utf8) }) { containers += 1 }
            }
            return containers <= maximum
        }
    }

    /// In another encoding, tags could be written with bytes other than those that are counted. Compares bytes, as Foundation's reader
    /// does: to Swift, a letter can be one character with what is before it.
    private static func isUTF8(declaredBy text: String) -> Bool {
        let declaration = text.utf8.prefix { $0 != UInt8(ascii: ">") }
        let words = declaration.ranges(of: "encoding".utf8)
        guard let word = words.first else { return true }
        return words.count == 1 && declaration[word.upperBound...].starts(with: "=\"UTF-8\"".utf8)
    }

    /// nil for anything but a harmless list whose root is a dictionary.
    static func dictionary(_ data: Data, containers maximum: Int) -> [String: Any]? {
        guard isHarmless(data, containers: maximum) else { return nil }
        return (try? PropertyListSerialization.propertyList(from: data, format: nil)) as? [String: Any]
    }

    /// Whether arrays and dictionaries in `value` are nested more than `maximum` deep. Foundation's reader takes 512 levels, and whatever
    /// follows a value down some thousands of them, such as Foundation's writer, overflows the stack.
    static func isTooDeep(_ value: Any, maximum: Int = 500) -> Bool {
        switch value {
        case let list as [Any]:
            maximum == 0 || list.contains { isTooDeep($0, maximum: maximum - 1) }
        case let dictionary as [AnyHashable: Any]:
            maximum == 0 || dictionary.values.contains { isTooDeep($0, maximum: maximum - 1) }
        default: false
        }
    }

    /// Serialises `dictionary`; nil if a property list can't hold it, or it has more than `maximum` arrays and dictionaries.
    static func data(_ dictionary: [String: Any], containers maximum: Int) -> Data? {
        guard !isTooDeep(dictionary) else { return nil }
        let data = try? PropertyListSerialization.data(fromPropertyList: dictionary, format: .xml, options: 0)
        return data.flatMap { isHarmless($0, containers: maximum) ? $0 : nil }
    }
}
