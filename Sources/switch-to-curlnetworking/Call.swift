/// A call in a manifest, such as `.target(name: "A", dependencies: [])`, with its arguments. Indices are token indices.
struct Call {
    struct Argument {
        /// nil without a label.
        let label: String?
        /// Including the label.
        let tokens: Range<Int>
        let value: Range<Int>
    }

    /// The index of the called name.
    let name: Int
    let arguments: [Argument]
    /// The index of the closing parenthesis.
    let end: Int

    /// All calls of one of `names`, outer ones first. With `isMember`, only those with a dot before the name, otherwise only those without.
    static func all(of names: Set<String>, isMember: Bool, in tokens: [Token]) -> [Call] {
        tokens.indices.compactMap { index in
            guard tokens[index].kind == .word, names.contains(tokens[index].text),
                (index > 0 && tokens[index - 1].text == ".") == isMember
            else { return nil }
            return Call(at: index, in: tokens)
        }
    }

    private init?(at name: Int, in tokens: [Token]) {
        guard name + 1 < tokens.count, tokens[name + 1].text == "(" else { return nil }
        var arguments: [Argument] = []
        var (depth, start) = (0, name + 2)
        for index in (name + 1)..<tokens.count where tokens[index].kind == .punctuation {
            switch tokens[index].text {
            case "(", "[", "{": depth += 1
            case ")", "]", "}":
                depth -= 1
                guard depth == 0 else { continue }
                if start < index { arguments.append(Argument(start..<index, in: tokens)) }
                self.name = name
                self.arguments = arguments
                end = index
                return
            case "," where depth == 1:
                if start < index { arguments.append(Argument(start..<index, in: tokens)) }
                start = index + 1
            default: continue
            }
        }
        return nil
    }

    subscript(label: String) -> Argument? { arguments.first { $0.label == label } }

    /// The value of an argument that is a plain string literal.
    func string(_ label: String, in tokens: [Token]) -> String? {
        guard let value = self[label]?.value, value.count == 1 else { return nil }
        return tokens[value.lowerBound].plainString
    }

    /// The plain string literals in an argument's value; nil without the argument.
    func strings(_ label: String, in tokens: [Token]) -> [String]? {
        self[label].map { tokens[$0.value].compactMap(\.plainString) }
    }
}

extension Token {
    /// The content of a string literal without escapes.
    fileprivate var plainString: String? {
        guard kind == .string, text.count >= 2, text.hasPrefix("\""), !text.contains("\\") else { return nil }
        return String(text.dropFirst().dropLast())
    }
}

extension Call.Argument {
    fileprivate init(_ range: Range<Int>, in all: [Token]) {
        tokens = range
        let first = range.lowerBound
        if range.count > 2, [.word, .identifier].contains(all[first].kind), all[first + 1].text == ":" {
            label = all[first].text
            value = first + 2..<range.upperBound
        } else {
            label = nil
            value = range
        }
    }
}
