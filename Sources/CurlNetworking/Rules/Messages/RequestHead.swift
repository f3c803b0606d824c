import Foundation

/// The head of a request as HTTP/1.1 writes it (RFC 9112 §3), for connections on which libcurl doesn't.
struct RequestHead {
    let method: String
    /// In origin-form: path and query.
    let target: String
    /// For the field `Host`.
    let host: String
    var fields: [HeaderField]

    /// - Parameter lines: In the form that libcurl takes: "Name: value", "Name;" for an empty value, "Name:" for none.
    init(method: String, target: String, host: String, lines: [String]) {
        (self.method, self.target, self.host) = (method, target, host)
        fields = lines.compactMap(HeaderField.init(line:))
    }

    mutating func add(_ name: String, _ value: String) {
        fields.append(HeaderField(name: name, value: value))
    }

    var text: String {
        var text = "\(method) \(target) HTTP/1.1\r\n"
        if !fields.contains("Host") { text += "Host: \(host)\r\n" }
        for field in fields { text += field.value.isEmpty ? "\(field.name):\r\n" : "\(field.name): \(field.value)\r\n" }
        return text + "\r\n"
    }
}

extension HeaderField {
    /// A field from a line in libcurl's form; nil for a line that removes the field.
    init?(line: String) {
        guard let end = line.firstIndex(where: { $0 == ":" || $0 == ";" }) else { return nil }
        let value = line[line.index(after: end)...].drop { $0 == " " }
        if line[end] == ":", value.isEmpty { return nil }
        self.init(name: String(line[..<end]), value: String(value))
    }
}
