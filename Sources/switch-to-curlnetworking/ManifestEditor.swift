/// Adds the dependency to a `Package.swift`. A value: text in, text out. Targets that aren't written out in the manifest, but computed, are
/// left to the user.
struct ManifestEditor {
    /// A target that is written out in the manifest.
    struct Target {
        let name: String
        /// Where SwiftPM looks for its files, relative to the package's root.
        let directories: [String]
        /// The only parts of its folder that belong to it, relative to the folder; nil for all.
        fileprivate let sources: [String]?
        /// The parts of its folder that don't.
        fileprivate let excluded: [String]
        let isPlugin: Bool
        fileprivate let call: Call

        /// Whether the file at `path` in `directory` is one of its own.
        fileprivate func includes(_ path: String, in directory: String) -> Bool {
            guard directory == "." || path.hasPrefix(directory + "/") else { return false }
            let rest = directory == "." ? path : String(path.dropFirst(directory.count + 1))
            func isIn(_ place: String) -> Bool { place == "." || rest == place || rest.hasPrefix(place + "/") }
            return !excluded.contains(where: isIn) && sources?.contains(where: isIn) != false
        }
    }

    /// The folders in which SwiftPM looks for a target's folder.
    private static let sources = ["Sources", "Source", "src", "srcs"]
    private static let kinds = [
        "target": sources, "executableTarget": sources, "macro": sources, "testTarget": ["Tests"] + sources,
        "plugin": ["Plugins"],
    ]

    private let text: String
    private let tokens: [Token]
    private let package: Call?
    /// A name occurs more than once if the manifest declares it more than once, as for each platform.
    let targets: [Target]

    init(_ text: String) {
        self.text = text
        let tokens = Lexer.tokens(of: text)
        self.tokens = tokens
        let packages = Call.all(of: ["Package"], isMember: false, in: tokens).filter { $0["name"] != nil }
        package = packages.first
        var targets: [Target] = []
        var end = 0
        // Within a target's declaration, `.target(name:)` is a dependency.
        for call in Call.all(of: Set(Self.kinds.keys), isMember: true, in: tokens) where call.name >= end {
            end = call.end
            guard Self.isDeclaration(call, of: packages, in: tokens), let target = Self.target(call, in: tokens) else {
                continue
            }
            targets.append(target)
        }
        self.targets = targets
    }

    /// nil if the name or the folder isn't written out.
    private static func target(_ declaration: Call, in tokens: [Token]) -> Target? {
        let kind = tokens[declaration.name].text
        guard let name = declaration.string("name", in: tokens), let folders = kinds[kind] else { return nil }
        var directories = folders.map { "\($0)/\(name)" }
        if declaration["path"] != nil {
            guard let path = declaration.string("path", in: tokens) else { return nil }
            directories = [normalised(path)]
        }
        return Target(
            name: name,
            directories: directories,
            sources: declaration.strings("sources", in: tokens)?.map(normalised),
            excluded: declaration.strings("exclude", in: tokens)?.map(normalised) ?? [],
            isPlugin: kind == "plugin",
            call: declaration
        )
    }

    private static func normalised(_ path: String) -> String {
        let parts = path.split(separator: "/").filter { $0 != "." }
        return parts.isEmpty ? "." : parts.joined(separator: "/")
    }

    /// The text before a target that isn't in the package's own list, without blanks.
    private static let leads = [
        "targets+=[", "targets=[", "targets.append(", "targets.append(contentsOf:[", "Target]=[", ":Target=", "Target",
    ]

    /// Whether a call that isn't in another target declares one. In a list of dependencies that targets share, it refers to one.
    private static func isDeclaration(_ call: Call, of packages: [Call], in tokens: [Token]) -> Bool {
        let brackets = tokens.brackets(openAt: call.name)
        if let list = packages.lazy.compactMap({ $0["targets"]?.value }).first(where: { $0.contains(call.name) }) {
            // A bracket after a name is that of a call, whose arguments may be dependencies.
            return brackets.allSatisfy { !list.contains($0) || tokens[$0].text != "{" && !tokens[$0 - 1].kind.isName }
        }
        let dot = call.name - 1
        return [dot, brackets.last.map { $0 + 1 } ?? 0].contains { end in
            let lead = tokens[..<end].suffix(7).map(\.text).joined()
            return leads.contains { lead.hasSuffix($0) }
        }
    }

    /// The version of SwiftPM that the manifest is for: its first line says which.
    private var toolsVersion: PackageDependency.ToolsVersion? {
        let line = text.drop { $0 == "\u{FEFF}" || $0.isWhitespace }.prefix { !$0.isNewline }
        guard let match = line.firstMatch(of: /swift-tools-version:?\s*(\d+)(?:\.(\d+))?/.ignoresCase()),
            let major = Int(match.1)
        else { return nil }
        return .init(major: major, minor: match.2.flatMap { Int($0) } ?? 0)
    }

    /// Whether the manifest names one of Apple's platforms.
    var namesApplePlatform: Bool {
        guard let platforms = package?["platforms"]?.value else { return false }
        let apple: Set = ["macOS", "iOS", "tvOS", "watchOS", "visionOS", "macCatalyst", "driverKit"]
        return tokens[platforms].contains { apple.contains($0.text) }
    }

    /// The target of the file at `path`, which is relative to the package's root; nil if it isn't clear which that is.
    func target(of path: String) -> Target? {
        let candidates = targets.flatMap { target in target.directories.map { (target, $0) } }
            .filter { $0.includes(path, in: $1) }
        guard let owner = candidates.max(by: { $0.1.utf8.count < $1.1.utf8.count }) else { return soleTarget(of: path) }
        let isClear = candidates.allSatisfy { $0.0.name == owner.0.name || $0.1.utf8.count < owner.1.utf8.count }
        return isClear ? owner.0 : nil
    }

    /// The only test target, or the only other target, may have the whole folder.
    private func soleTarget(of path: String) -> Target? {
        guard let top = path.split(separator: "/").first.map(String.init), Self.sources.contains(top) || top == "Tests"
        else { return nil }
        let kin = targets.filter { !$0.isPlugin && (tokens[$0.call.name].text == "testTarget") == (top == "Tests") }
        guard let target = kin.first, kin.allSatisfy({ $0.name == target.name }), target.call["path"] == nil,
            target.sources == nil, target.excluded.isEmpty
        else { return nil }
        return target
    }

    /// The manifest with the dependency for the targets of these names.
    ///
    /// - Parameter needsPackage: Whether the package needs the dependency even if none of these targets does: another one may be computed.
    func adding(
        _ dependency: PackageDependency,
        to names: Set<String>,
        needsPackage: Bool = false,
        onlyOnLinux: Bool,
        file: String
    ) -> (text: String, findings: [Finding]) {
        var edits: [Edit] = []
        var findings: [Finding] = []
        let lacksConditions = toolsVersion.map { $0 < (5, 3) } ?? false
        let product = dependency.product(onlyOnLinux: onlyOnLinux && !lacksConditions)
        let entryOfPackage = dependency.package(forTools: toolsVersion)
        for target in targets where names.contains(target.name) {
            let line = tokens[target.call.name].line
            let new = entry(product, to: target.call, after: "name", unless: namesProduct)
            let isOnly = targets.count { $0.name == target.name } == 1
            if let new, isOnly || new.isEmpty {
                edits += new
            } else {
                findings.append(Finding(file: file, line: line, text: "add \(product) to “\(target.name)”"))
            }
        }
        if onlyOnLinux, lacksConditions, !names.isEmpty {
            let note = "the dependency is for all platforms: one for Linux alone takes swift-tools-version 5.3"
            findings.append(Finding(file: file, line: 1, text: note))
        }
        if needsPackage || !names.isEmpty {
            let added = package.flatMap {
                entry(entryOfPackage, to: $0, before: "targets") { namesPackage(dependency.identity, in: $0) }
            }
            if let added {
                edits += added
            } else {
                findings.append(Finding(file: file, line: nil, text: "add \(entryOfPackage) to the dependencies"))
            }
        }
        return (text.applying(edits), findings)
    }

    // MARK: - Entries of lists

    /// The edits that add `entry` to the call's list of dependencies; none if the list `has` it, and nil if it isn't written out.
    private func entry(
        _ entry: String,
        to call: Call,
        after: String? = nil,
        before: String? = nil,
        unless has: (Range<Int>) -> Bool
    ) -> [Edit]? {
        guard let list = call["dependencies"]?.value else {
            return insertion(of: "dependencies: [\(entry)]", into: call, after: after, before: before)
        }
        guard tokens[list.lowerBound].text == "[", tokens[list.upperBound - 1].text == "]",
            closing(of: list.lowerBound) == list.upperBound - 1
        else { return nil }
        if has(list) { return [] }
        let close = tokens[list.upperBound - 1]
        guard list.count > 2 else { return [Edit(insertingAt: close.range.lowerBound, entry)] }
        let (first, last) = (tokens[list.lowerBound + 1], tokens[list.upperBound - 2])
        let hasComma = last.text == ","
        if first.line == tokens[list.lowerBound].line {
            return [Edit(insertingAt: last.range.upperBound, (hasComma ? " " : ", ") + entry)]
        }
        let indentation = text.indentation(at: first.range.lowerBound)
        let line = text.startOfLine(of: close.range.lowerBound)
        let isAlone = text.text(of: line..<close.range.lowerBound).allSatisfy(\.isWhitespace)
        guard isAlone else {
            let end = (hasComma ? "" : ",") + text.lineBreak
            return [Edit(insertingAt: last.range.upperBound, end + indentation + entry + ",")]
        }
        // After the comments on the last one.
        let comma = hasComma ? [] : [Edit(insertingAt: last.range.upperBound, ",")]
        return comma + [Edit(insertingAt: line, indentation + entry + "," + text.lineBreak)]
    }

    /// Whether a target's list has our product: by its name alone, or as the `name:` of an entry.
    private func namesProduct(_ list: Range<Int>) -> Bool {
        list.contains { index in
            tokens[index].kind == .string && tokens[index].text == "\"\(SourceRewriter.ours)\""
                && (tokens[index - 1].text != ":" || tokens[index - 2].text == "name")
        }
    }

    /// Whether a package's list has the package: by its name, or by a location that ends with it.
    private func namesPackage(_ identity: String, in list: Range<Int>) -> Bool {
        Call.all(of: ["package"], isMember: true, in: tokens).contains { call in
            list.contains(call.name)
                && ["url", "path", "name"].compactMap { call.string($0, in: tokens) }.contains {
                    // SwiftPM ignores the case, too.
                    PackageDependency.identity(of: $0).lowercased() == identity.lowercased()
                }
        }
    }

    private func insertion(of argument: String, into call: Call, after: String?, before: String?) -> [Edit]? {
        if let after = after.flatMap({ call[$0] }) {
            let name = tokens[after.tokens.lowerBound]
            let separator = separator(before: name, in: call)
            return [Edit(insertingAt: tokens[after.tokens.upperBound - 1].range.upperBound, "," + separator + argument)]
        }
        guard let before = before.flatMap({ call[$0] }) else { return nil }
        let next = tokens[before.tokens.lowerBound]
        return [Edit(insertingAt: next.range.lowerBound, argument + "," + separator(before: next, in: call))]
    }

    /// A line break if the call has its arguments on separate lines, otherwise a space.
    private func separator(before argument: Token, in call: Call) -> String {
        argument.line == tokens[call.name].line ? " " : text.lineBreak + text.indentation(at: argument.range.lowerBound)
    }

    /// The index of the bracket that closes the one at `index`.
    private func closing(of index: Int) -> Int? {
        var depth = 0
        for position in index..<tokens.count where tokens[position].kind == .punctuation {
            switch tokens[position].text {
            case "(", "[", "{": depth += 1
            case ")", "]", "}":
                depth -= 1
                if depth == 0 { return position }
            default: continue
            }
        }
        return nil
    }
}

extension Token.Kind {
    fileprivate var isName: Bool { self == .word || self == .identifier }
}

extension [Token] {
    /// The indices of the brackets that are open before the token at `index`, the innermost last.
    fileprivate func brackets(openAt index: Int) -> [Int] {
        var open: [Int] = []
        for position in 0..<index where self[position].kind == .punctuation {
            switch self[position].text {
            case "(", "[", "{": open.append(position)
            case ")", "]", "}": _ = open.popLast()
            default: continue
            }
        }
        return open
    }
}
