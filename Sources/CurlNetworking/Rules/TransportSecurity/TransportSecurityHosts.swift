import Foundation

/// The known hosts that require https (RFC 6797 §8), and their file in libcurl's format.
struct TransportSecurityHosts: Equatable, Sendable {
    struct Entry: Equatable, Sendable {
        /// nil for never.
        var expires: Date?
        var includesSubdomains: Bool
        /// When a response last changed it; `distantPast` for an entry from a file. Not in files.
        var noted = Date.distantPast

        func isExpired(at now: Date) -> Bool {
            expires.map { $0 <= now } ?? false
        }
    }

    /// By the host's name in lower case, without a trailing dot.
    private(set) var entries: [String: Entry] = [:]
    /// False if only a part of the file was read: replacing the file would remove the rest.
    var isWhole = true
    /// How many of `entries` never expire. Only files written by programs have such entries, so they don't count towards the limit.
    private var lastingCount = 0
    private var expiringCount: Int { entries.count - lastingCount }

    /// The limit on entries that expire.
    static let maximumCount = 10_000
    private static let maximumLines = 4 * maximumCount

    // MARK: - Names

    /// The name under which a host is listed; nil for addresses, which never are (§8.1.1), and for invalid names.
    static func name(of host: String) -> String? {
        let name = (host.hasSuffix(".") ? host.dropLast() : host[...]).lowercased()
        let isName = name.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
        }
        guard isName, !name.isEmpty, name.utf8.count <= 253, !name.hasPrefix("."), !name.hasSuffix(".") else {
            return nil
        }
        return IPAddress.isIPv4(name) ? nil : name
    }

    /// Whether https is required by `host`, or by a domain above it that includes its subdomains (§8.2).
    func contains(_ host: String, now: Date) -> Bool {
        guard !entries.isEmpty, let name = Self.name(of: host) else { return false }
        if let entry = entries[name], !entry.isExpired(at: now) { return true }
        var rest = name[...]
        while let parent = rest.parentDomain {
            rest = parent
            if let entry = entries[String(rest)], entry.includesSubdomains, !entry.isExpired(at: now) { return true }
        }
        return false
    }

    /// Notes the field of a response from `host` (§8.1). Returns the host's name if that changes something.
    mutating func note(_ field: TransportSecurityField, from host: String, now: Date) -> String? {
        guard let name = Self.name(of: host) else { return nil }
        guard field.maximumAge > 0 else {
            guard entries[name] != nil else { return nil }
            set(nil, for: name, now: now)
            return name
        }
        let expires = Date(timeIntervalSince1970: (now.timeIntervalSince1970 + Double(field.maximumAge)).rounded(.down))
        let entry = Entry(expires: expires, includesSubdomains: field.includesSubdomains, noted: now)
        // Each response of a busy host extends it: less than a minute more isn't worth writing.
        if let known = entries[name], known.includesSubdomains == entry.includesSubdomains, let old = known.expires,
            old <= expires, expires.timeIntervalSince(old) < 60
        {
            return nil
        }
        set(entry, for: name, now: now)
        return name
    }

    /// nil removes the entry.
    mutating func set(_ entry: Entry?, for name: String, now: Date) {
        put(entry, for: name)
        makeRoom(now: now)
    }

    private mutating func put(_ entry: Entry?, for name: String) {
        if let old = entries[name], old.expires == nil { lastingCount -= 1 }
        if let entry, entry.expires == nil { lastingCount += 1 }
        entries[name] = entry
    }

    private mutating func makeRoom(now: Date) {
        guard expiringCount > Self.maximumCount else { return }
        // Makes room for a tenth, so that this is rare.
        let most = Self.maximumCount * 9 / 10
        entries = entries.filter { !$0.value.isExpired(at: now) }
        if expiringCount > most { remove(expiringCount - most) }
    }

    /// Removes `surplus` entries that expire: each time, of the site that has the most, the one noted longest ago. A site is a registered
    /// domain and all below it, so one with many hosts evicts its own, however long they are to last.
    private mutating func remove(_ surplus: Int) {
        let latestFirst = entries.compactMap { name, entry in entry.expires.map { (entry.noted, $0, name) } }
            .sorted(by: >).map(\.2)
        var counts: [String: Int] = [:]
        let ranks = latestFirst.indices.map { index in
            let site = PublicSuffixList.site(of: latestFirst[index])
            let laterOfSite = counts[site, default: 0]
            counts[site] = laterOfSite + 1
            return (laterOfSite, index)
        }
        for (_, index) in ranks.sorted(by: >).prefix(surplus) { entries[latestFirst[index]] = nil }
    }

    /// Adopts the times when hosts were noted, which aren't in the file that the entries were read from.
    mutating func adoptDates(from known: TransportSecurityHosts) {
        for name in entries.keys { if let noted = known.entries[name]?.noted { entries[name]?.noted = noted } }
    }

    // MARK: - The file

    /// Reads the format of `text(now:)`, libcurl and curl, in UTF-8. Invalid lines are skipped. Text that isn't ours costs little time,
    /// however long it is, and no memory.
    init(_ text: UnsafeRawBufferPointer, now: Date) {
        var rest = text
        var count = 0
        while let line = Self.nextLine(of: &rest) {
            count += 1
            guard count <= Self.maximumLines else {
                isWhole = false
                break
            }
            guard let (name, entry) = Self.entry(line), !entry.isExpired(at: now) else { continue }
            // Of two entries the later one counts, as in libcurl.
            if let known = entries[name], (known.expires ?? .distantFuture) > (entry.expires ?? .distantFuture) {
                continue
            }
            put(entry, for: name)
        }
        makeRoom(now: now)
    }

    init() {}

    func text(now: Date) -> String {
        let lines = entries.sorted { $0.key < $1.key }.filter { !$0.value.isExpired(at: now) }.map { name, entry in
            "\(entry.includesSubdomains ? "." : "")\(name) \"\(entry.expires.map(Self.text) ?? Self.never)\"\n"
        }
        return "# Hosts that want https (RFC 6797), in the format of https://curl.se/docs/hsts.html\n" + lines.joined()
    }

    private static let never = "unlimited"

    /// Takes the next line that isn't empty; nil at the end.
    private static func nextLine(of rest: inout UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        var start = 0
        while case let length = newlineLength(rest, start), length > 0 { start += length }
        guard start < rest.count else { return nil }
        var end = start
        while end < rest.count, newlineLength(rest, end) == 0 { end += 1 }
        defer { rest = UnsafeRawBufferPointer(rebasing: rest[end...]) }
        return UnsafeRawBufferPointer(rebasing: rest[start..<end])
    }

    /// How many bytes the newline at `index` has; 0 if there is none. All of Unicode's count, as in `Character.isNewline`.
    private static func newlineLength(_ text: UnsafeRawBufferPointer, _ index: Int) -> Int {
        guard index < text.count else { return 0 }
        switch text[index] {
        case UInt8(ascii: "\n")...UInt8(ascii: "\r"): return 1
        case 0xC2 where index + 1 < text.count && text[index + 1] == 0x85: return 2
        case 0xE2 where index + 2 < text.count && text[index + 1] == 0x80 && text[index + 2] & 0xFE == 0xA8: return 3
        default: return 0
        }
    }

    /// For example `.example.com "20301231 23:59:59"`; the dot stands for all subdomains. Comments have no valid name.
    private static func entry(_ line: UnsafeRawBufferPointer) -> (String, Entry)? {
        let line = line.trimmed
        let words = line.split(maxSplits: 3) { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard (2...3).contains(words.count), let first = words.first, let last = words.last else { return nil }
        let value = line[words[1].startIndex..<last.endIndex]
        let quote = UInt8(ascii: "\"")
        guard value.count > 2, value.first == quote, value.last == quote else { return nil }
        let includesSubdomains = first.first == UInt8(ascii: ".")
        let host = includesSubdomains ? first.dropFirst() : first
        // Converting other text to lower case takes long.
        guard host.allSatisfy({ $0 < 0x80 }), let name = name(of: String(decoding: host, as: UTF8.self)) else {
            return nil
        }
        let date = value.dropFirst().dropLast()
        if date.elementsEqual(never.utf8) { return (name, Entry(expires: nil, includesSubdomains: includesSubdomains)) }
        return Self.date(date).map { (name, Entry(expires: $0, includesSubdomains: includesSubdomains)) }
    }

    private static func text(_ date: Date) -> String {
        let time = CivilTime(date)
        return "\(time.year)\(time.month.twoDigits)\(time.day.twoDigits) \(time.clock)"
    }

    /// `20301231 23:59:59`, in UTC.
    private static func date(_ text: Slice<UnsafeRawBufferPointer>) -> Date? {
        let digits = text.lazy.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") && $0 != UInt8(ascii: ":") }
        return CivilTime(compact: digits)?.date
    }
}

extension TransportSecurityHosts {
    /// The URL with https instead of http, and port 443 instead of 80; other ports stay (§8.3). nil if it can't be parsed.
    static func secured(_ url: URL) -> URL? {
        guard var components = URLComponents(url: url.absoluteURL, resolvingAgainstBaseURL: true) else { return nil }
        components.scheme = Scheme.https.rawValue
        if components.port == Scheme.http.defaultPort { components.port = Scheme.https.defaultPort }
        return components.url
    }
}
