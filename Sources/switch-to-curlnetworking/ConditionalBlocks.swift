/// A conditionally compiled block, from `#if` to `#endif`.
struct ConditionalBlock: Equatable {
    struct Clause: Equatable {
        /// The index of `#if`, `#elseif` or `#else`.
        let directive: Int
        /// The indices of the condition's tokens; empty for `#else`.
        let condition: Range<Int>
        /// The indices of the tokens up to the next clause.
        var body: Range<Int>
    }

    var clauses: [Clause]
    /// The index of `#endif`.
    var end: Int

    /// All complete blocks, inner ones first.
    static func all(in tokens: [Token]) -> [ConditionalBlock] {
        var open: [ConditionalBlock] = []
        var blocks: [ConditionalBlock] = []
        for (index, token) in tokens.enumerated() where token.kind == .directive {
            switch token.text {
            case "#if": open.append(ConditionalBlock(clauses: [Clause(at: index, in: tokens)], end: 0))
            case "#elseif", "#else":
                guard !open.isEmpty else { continue }
                open[open.count - 1].closeClause(at: index)
                open[open.count - 1].clauses.append(Clause(at: index, in: tokens))
            case "#endif":
                guard var block = open.popLast() else { continue }
                block.closeClause(at: index)
                block.end = index
                blocks.append(block)
            default: continue
            }
        }
        return blocks
    }

    private mutating func closeClause(at index: Int) {
        let last = clauses.count - 1
        clauses[last].body = clauses[last].body.lowerBound..<max(index, clauses[last].body.lowerBound)
    }

    /// The clause whose body contains the token at `index`, possibly in a nested block.
    func clause(around index: Int) -> Clause? {
        clauses.first { $0.body.contains(index) }
    }
}

extension ConditionalBlock.Clause {
    fileprivate init(at index: Int, in tokens: [Token]) {
        let line = tokens[index].line
        let end = tokens[(index + 1)...].firstIndex { $0.line != line } ?? tokens.count
        directive = index
        condition = index + 1..<end
        body = end..<end
    }

    /// Whether the condition is exactly that `module` can be imported.
    func asksFor(_ module: String, in tokens: [Token]) -> Bool {
        tokens[condition].map(\.text) == ["canImport", "(", module, ")"]
    }

    /// Whether it is compiled for Linux and for nothing else.
    func isForLinuxAlone(in tokens: [Token]) -> Bool {
        tokens[condition].map(\.text) == ["os", "(", "Linux", ")"]
    }
}
