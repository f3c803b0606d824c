/// The head of a part of a `multipart/x-mixed-replace` body. Thousands may wait, so they share what the whole response says.
struct PartHead: Sendable {
    /// The whole response's status, and its fields except for those that describe the body.
    let common: ResponseHead
    /// The part's own fields, which replace those of the same names.
    let fields: [HeaderField]

    /// About how much memory it needs, in bytes.
    var cost: Int {
        max(Self.minimumCost, fields.reduce(0) { $0 + 64 + $1.name.utf8.count + $1.value.utf8.count })
    }

    static let minimumCost = 1024

    var merged: ResponseHead {
        var merged = common.removing(Set(fields.map { $0.name.lowercased() }))
        merged.fields += fields
        return merged
    }
}
