/// What a `Range` field asks of a representation of a known length (RFC 9110, section 14).
enum ByteRange: Equatable {
    /// There is no range, or none this server understands: everything is sent. Several ranges count as none.
    case whole
    /// Never empty.
    case part(Range<Int64>)
    case unsatisfiable

    init(_ field: String?, length: Int64) {
        guard let field, let equals = field.firstIndex(of: "="), isSameName(String(field[..<equals]), "bytes") else {
            self = .whole
            return
        }
        let range = field[field.index(after: equals)...].filter { $0 != " " && $0 != "\t" }
        let bounds = range.split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2, bounds.allSatisfy({ $0.allSatisfy { $0.isASCII && $0.isNumber } }) else {
            self = .whole
            return
        }
        // A number too large for 64 bits is beyond any end.
        switch (bounds[0].isEmpty, bounds[1].isEmpty) {
        case (true, true):
            self = .whole
        case (true, false):
            let suffix = min(Int64(bounds[1]) ?? .max, length)
            self = suffix == 0 ? .unsatisfiable : .part(length - suffix..<length)
        case (false, let isOpen):
            let first = Int64(bounds[0]) ?? .max
            let last = isOpen ? Int64.max : Int64(bounds[1]) ?? .max
            if last < first {
                self = .whole
            } else if first >= length {
                self = .unsatisfiable
            } else {
                self = .part(first..<min(last, length - 1) + 1)
            }
        }
    }
}
