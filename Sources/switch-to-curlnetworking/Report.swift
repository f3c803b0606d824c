/// The program's output.
struct Report {
    let text: String

    init(_ package: PackageSwitch, isDryRun: Bool) {
        var lines: [String] = []
        for change in package.changes {
            lines.append("\(isDryRun ? "would change" : "changed") \(change.path)")
            if isDryRun { lines += Self.difference(change.old, change.new).map { "    " + $0 } }
        }
        if package.changes.isEmpty { lines.append("nothing to change") }
        if !package.findings.isEmpty {
            lines.append("")
            lines.append("Needs a hand:")
            lines += package.findings.map { "    " + $0.description }
        }
        text = lines.joined(separator: "\n")
    }

    /// The removed and inserted lines.
    private static func difference(_ old: String, _ new: String) -> [String] {
        let (old, new) = (lines(of: old), lines(of: new))
        return new.difference(from: old).sorted { one, other in
            (one.offset, one.isInsertion ? 1 : 0) < (other.offset, other.isInsertion ? 1 : 0)
        }.map { $0.isInsertion ? "+ \($0.line)" : "- \($0.line)" }
    }

    private static func lines(of text: String) -> [Substring] {
        text.split(omittingEmptySubsequences: false) { $0.isNewline }
    }
}

extension CollectionDifference<Substring>.Change {
    fileprivate var offset: Int {
        switch self {
        case .insert(let offset, _, _), .remove(let offset, _, _): offset
        }
    }

    fileprivate var line: Substring {
        switch self {
        case .insert(_, let line, _), .remove(_, let line, _): line
        }
    }

    fileprivate var isInsertion: Bool {
        if case .insert = self { true } else { false }
    }
}
