import CurlTransport
import Foundation

/// Translates a request into libcurl options.
enum RequestEncoder {
    /// Throws for URLs, methods and header fields that must not be sent, before anything is. `origin` is the request's.
    static func options(
        for request: URLRequest,
        at origin: Origin,
        body: (any RequestBody)?,
        settings: SessionSettings,
        keepsCredentials: Bool = true
    ) throws(URLError) -> TransferOptions {
        let url = try request.requiredURL
        let method = request.httpMethod ?? "GET"
        guard FieldSyntax.isToken(method) else {
            throw URLError(.badURL, url: url, "The method \(method.debugDescription) is not valid.")
        }
        let additional = settings.additionalHeaders(withCredentials: keepsCredentials)
        let fields = try HeaderRules.fields(of: request, additional: additional)
        let (target, credentials) = try transportURL(of: url, at: origin)
        let asksForPart = fields.contains("Range")
        let defaults = Defaults.of(settings, asksForPart: asksForPart)
        var options =
            fields.isEmpty && body == nil
            ? TransferOptions(url: target, method: method, headers: defaults.list)
            : TransferOptions(
                url: target,
                method: method,
                headers: lines(for: fields, of: request, body: body, defaults: defaults)
            )
        options.keepTarget()
        if !fields.contains("Authorization") { options.credentials = credentials }
        if fields.closesConnection { options.closing = .always }
        if settings.configureTransfer != nil {
            options.acceptEncoding = asksForPart ? ContentCoding.noCoding : ContentCoding.offer
        }
        if let body { options.body = body.length.map { .known($0) } ?? .chunked }
        return options
    }

    // MARK: - Lines

    /// `fields`, plus the defaults for those that are missing.
    private static func lines(
        for fields: [HeaderField],
        of request: URLRequest,
        body: (any RequestBody)?,
        defaults: Defaults
    ) -> [String] {
        var lines = fields.map(line)
        for (name, line) in zip(defaults.names, defaults.list.lines) where !fields.contains(name) { lines.append(line) }
        guard let body else { return lines }
        // Otherwise libcurl would wait up to a second for the server's permission to send a body.
        if !fields.contains("Expect") { lines.append("Expect:") }
        // As in the stock module, an upload task's data has the type of the body that it replaces.
        let isOwnBody = request.httpBody != nil || body is StreamedBody
        if request.httpMethod == "POST", isOwnBody, body.length != 0, !fields.contains("Content-Type") {
            lines.append("Content-Type: application/x-www-form-urlencoded")
        }
        return lines
    }

    /// Without the white space around the value, which isn't part of it (RFC 9110 §5.5): over HTTP/2, servers treat it as an error (RFC
    /// 9113 §8.2.1).
    private static func line(_ field: HeaderField) -> String {
        let value = Substring(field.value).trimmed
        // To libcurl, "Name:" means "don't send it", even if what C calls white space follows.
        let isBlank = value.utf8.allSatisfy { $0 == 0x20 || (0x09...0x0D).contains($0) }
        return isBlank ? field.name + ";" : field.name + ": " + value
    }

    /// The fields sent with every request that doesn't set them itself.
    private struct Defaults {
        let names: [String]
        let values: [String]
        /// Complete lines, one for each name.
        let list: HeaderList

        private init(_ fields: [HeaderField]) {
            (names, values) = (fields.map(\.name), fields.map(\.value))
            list = HeaderList(fields.map { "\($0.name): \($0.value)" })
        }

        /// - Parameter asksForPart: Whether the request has a `Range`. A part of a coded body begins in the middle of it, where no decoder
        ///   can (RFC 9110 §14.2).
        static func of(_ settings: SessionSettings, asksForPart: Bool) -> Defaults {
            if settings.configureTransfer != nil { return withoutCodings }
            return asksForPart ? forParts : withCodings
        }

        private static let withCodings = ContentCoding.offer.map(accepting) ?? withoutCodings
        private static let forParts = accepting(ContentCoding.noCoding)

        private static func accepting(_ codings: String) -> Defaults {
            Defaults(programFields + [HeaderField(name: "Accept-Encoding", value: codings)])
        }

        /// For programs that can make libcurl offer other codings, or none: then libcurl writes `Accept-Encoding`.
        private static let withoutCodings = Defaults(programFields)
    }

    /// The fields that describe this program and its user, unless the request sets them itself.
    static let programFields = [
        HeaderField(name: "User-Agent", value: "\(processName) (unknown version) curl/\(CurlLibrary.versionText)"),
        HeaderField(name: "Accept-Language", value: acceptLanguage(Locale.preferredLanguages)),
    ]

    /// The value of a field that is sent with every request without a `Range`, unless the request sets it itself; nil if there is no such
    /// field.
    ///
    /// - Parameter name: In any case.
    static func defaultValue(of name: String, _ settings: SessionSettings) -> String? {
        let defaults = Defaults.of(settings, asksForPart: false)
        return defaults.names.firstIndex { $0.isEqualIgnoringASCIICase(to: name) }.map { defaults.values[$0] }
    }

    private static var processName: String {
        ProcessInfo.processInfo.processName.filter { $0.isASCII && !$0.isNewline }
    }

    /// The user's languages with decreasing weights (RFC 9110 §12.5.4). Region 001 is the world, and is left out.
    static func acceptLanguage(_ languages: [String]) -> String {
        let weighted = languages.prefix(9).enumerated().map { index, language in
            let language = language.hasSuffix("-001") ? String(language.dropLast(4)) : language
            return index == 0 ? language : "\(language);q=0.\(10 - index)"
        }
        return weighted.isEmpty ? "en" : weighted.joined(separator: ",")
    }

    // MARK: - The URL

    /// The URL as libcurl gets it, with the host as `origin` spells it, except for the case of letters, and the user name and password that
    /// it contained (RFC 3986 §3.2.1).
    ///
    /// libcurl would decode and map a host in its own way, which depends on the process's locale: perhaps to another host than the one for
    /// which everything here, from pins to proxies, was decided.
    static func transportURL(
        of url: URL,
        at origin: Origin
    ) throws(URLError) -> (url: String, credentials: (user: String, password: String)?) {
        let text = url.absoluteString
        // True of most URLs: nothing to change.
        if origin.begins(text) { return (text, nil) }
        guard let authority = authority(in: text) else { throw .noHost(url) }
        let at = text[authority].lastIndex(of: "@")
        let credentials = try credentials(in: text[authority.lowerBound..<(at ?? authority.lowerBound)], of: url)
        // Servers see the case of the letters in the Host field.
        let spelled = String(text[(at.map(text.index(after:)) ?? authority.lowerBound)..<authority.upperBound])
        let place = spelled.isEqualIgnoringASCIICase(to: origin.authority) ? spelled : origin.authority
        return ("\(origin.scheme.transport.rawValue)://\(place)\(text[authority.upperBound...])", credentials)
    }

    /// The user name and password in `userInfo`, the part before the host; nil if both are empty.
    private static func credentials(
        in userInfo: Substring,
        of url: URL
    ) throws(URLError) -> (user: String, password: String)? {
        guard let (user, secret) = userInfo.userInformation, case let password = secret ?? "",
            !(user + password).utf8.contains(0), !user.utf8.contains(UInt8(ascii: ":"))
        else { throw URLError(.badURL, url: url, "The URL's user name or password is not valid.") }
        return user.isEmpty && password.isEmpty ? nil : (user, password)
    }

    /// The part between "//" and the path, query or fragment.
    private static func authority(in text: String) -> Range<String.Index>? {
        guard let slashes = text.range(of: "://") else { return nil }
        let end = text[slashes.upperBound...].firstIndex { "/?#".contains($0) } ?? text.endIndex
        return slashes.upperBound..<end
    }
}

extension TransferOptions {
    /// Replaces all fields of the same names with `fields`.
    mutating func replaceHeaders(_ fields: [HeaderField]) {
        headers.removeAll { line in fields.contains { line.isLine(ofField: $0.name) } }
        headers += fields.map { "\($0.name): \($0.value)" }
    }

    /// Leaves the lines alone if none is of this field, so that many requests can go on sharing them.
    mutating func removeHeader(_ name: String) {
        guard headers.contains(where: { $0.isLine(ofField: name) }) else { return }
        headers.removeAll { $0.isLine(ofField: name) }
    }
}

extension TransferOptions {
    /// The request-target in origin-form: path and query.
    var target: String {
        let path = url.range(of: "://").map { url[$0.upperBound...].drop { !"/?#".contains($0) } } ?? ""
        let target = path.prefix { $0 != "#" }
        return target.first == "/" ? String(target) : "/" + target
    }

    /// Has the target sent as it is. libcurl changes the digits of percent-encodings to upper case (since 8.20), after which signatures of
    /// the URL no longer match, and drops a question mark that nothing follows (seen with 8.14; not with 7.88 and 8.21).
    fileprivate mutating func keepTarget() {
        var url = url
        let mayChange = url.withUTF8 { bytes in
            bytes.indices.contains { index in
                switch bytes[index] {
                case UInt8(ascii: "%"): bytes[(index + 1)...].prefix(2).contains { (0x61...0x66).contains($0) }
                case UInt8(ascii: "?"): index + 1 == bytes.count || bytes[index + 1] == UInt8(ascii: "#")
                default: false
                }
            }
        }
        if mayChange { requestTarget = target }
    }
}
