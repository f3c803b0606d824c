import Foundation

/// The properties that protocol classes store in requests.
///
/// The stock module loses them when a request is copied, and so whenever a `URLRequest` is made from an `NSMutableURLRequest`. Copies keep
/// header fields, so properties that a property list can hold are kept in a field that this module never sends. Its name differs in every
/// process, so that no other code can set it. A table of values wouldn't know when the last copy of a request is gone.
enum RequestProperties {
    private static let prefix = "CurlNetworking-Properties-"
    private static let fieldName = prefix + UUID.random().uuidString

    /// Whether the field of that name holds the properties.
    static func isField(_ name: String) -> Bool {
        // The stock module changes the case of names.
        name.utf8.count == fieldName.utf8.count
            && String(name.prefix(prefix.count)).isEqualIgnoringASCIICase(to: prefix)
    }

    static func value(forKey key: String, in request: URLRequest) -> Any? {
        all(request.value(forHTTPHeaderField: fieldName))[key]
    }

    /// Returns false if a property list can't hold the value.
    static func set(_ value: Any, forKey key: String, in request: NSMutableURLRequest) -> Bool {
        guard !UntrustedPropertyList.isTooDeep([key: value]),
            PropertyListSerialization.propertyList([key: value], isValidFor: .binary)
        else { return false }
        var properties = all(request.value(forHTTPHeaderField: fieldName))
        properties[key] = value
        return store(properties, in: request)
    }

    static func remove(_ key: String, in request: NSMutableURLRequest) {
        var properties = all(request.value(forHTTPHeaderField: fieldName))
        guard properties.removeValue(forKey: key) != nil else { return }
        _ = store(properties, in: request)
    }

    // MARK: - All at once

    /// nil if there are none.
    static func all(of request: URLRequest) -> [String: Any]? {
        let properties = all(request.value(forHTTPHeaderField: fieldName))
        return properties.isEmpty ? nil : properties
    }

    /// Does nothing if a property list can't hold them.
    static func setAll(_ properties: [String: Any], in request: inout URLRequest) {
        guard let field = encoded(properties) else { return }
        request.setValue(field, forHTTPHeaderField: fieldName)
    }

    // MARK: - In the field

    private static func all(_ field: String?) -> [String: Any] {
        guard let field, let data = Data(base64Encoded: field),
            let properties = try? PropertyListSerialization.propertyList(from: data, format: nil)
        else { return [:] }
        return properties as? [String: Any] ?? [:]
    }

    private static func store(_ properties: [String: Any], in request: NSMutableURLRequest) -> Bool {
        guard !properties.isEmpty else {
            request.setValue(nil, forHTTPHeaderField: fieldName)
            return true
        }
        guard let field = encoded(properties) else { return false }
        request.setValue(field, forHTTPHeaderField: fieldName)
        return true
    }

    private static func encoded(_ properties: [String: Any]) -> String? {
        let data = try? PropertyListSerialization.data(fromPropertyList: properties, format: .binary, options: 0)
        return data?.base64EncodedString()
    }
}
