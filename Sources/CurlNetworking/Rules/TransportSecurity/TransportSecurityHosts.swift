import Foundation
import Glibc

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
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
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

    /// Reads the format of `text`, libcurl and curl. Invalid lines are skipped.
    init(_ text: String, now: Date) {
        let lines = text.split(whereSeparator: \.isNewline)
        isWhole = lines.count <= Self.maximumLines
        for line in lines.prefix(Self.maximumLines) {
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

    /// For example `.example.com "20301231 23:59:59"`; the dot stands for all subdomains.
    private static func entry(_ line: Substring) -> (String, Entry)? {
        let words = line.split { $0 == " " || $0 == "\t" }
        guard let first = words.first, first.first != "#", words.count <= 3 else { return nil }
        let value = words.dropFirst().joined(separator: " ")
        guard value.count > 2, value.hasPrefix("\""), value.hasSuffix("\"") else { return nil }
        let includesSubdomains = first.hasPrefix(".")
        guard let name = name(of: String(includesSubdomains ? first.dropFirst() : first)) else { return nil }
        let date = value.dropFirst().dropLast()
        if date == never { return (name, Entry(expires: nil, includesSubdomains: includesSubdomains)) }
        return Self.date(date).map { (name, Entry(expires: $0, includesSubdomains: includesSubdomains)) }
    }

    private static func text(_ date: Date) -> String {
        var time = time_t(max(0, min(date.timeIntervalSince1970, 253_402_300_799)))
        var parts = tm()
        gmtime_r(&time, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let day = "\(parts.tm_year + 1900)\(two(parts.tm_mon + 1))\(two(parts.tm_mday))"
        return "\(day) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    }

    /// `20301231 23:59:59`, in UTC.
    private static func date(_ text: Substring) -> Date? {
        let digits = text.filter { $0 != " " && $0 != ":" }.utf8
        guard digits.count == 14, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        let numbers = digits.map { Int32($0 - UInt8(ascii: "0")) }
        func number(_ range: Range<Int>) -> Int32 { numbers[range].reduce(0) { $0 * 10 + $1 } }
        var parts = tm()
        parts.tm_year = number(0..<4) - 1900
        (parts.tm_mon, parts.tm_mday) = (number(4..<6) - 1, number(6..<8))
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (number(8..<10), number(10..<12), number(12..<14))
        guard (0..<12).contains(parts.tm_mon), (1...31).contains(parts.tm_mday), parts.tm_hour < 24, parts.tm_min < 60,
            parts.tm_sec <= 60
        else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(timegm(&parts)))
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
