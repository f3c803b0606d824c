import Foundation

/// The directory that holds everything of one run: what is served, what is received, certificates, nginx's own files.
/// It is removed at the end.
struct Site {
    struct Asset: Sendable {
        var path: String
        var bytes: Int
    }

    static let small = Asset(path: "/1k", bytes: 1 << 10)
    static let medium = Asset(path: "/1m", bytes: 1 << 20)
    static let large = Asset(path: "/1g", bytes: 1 << 30)
    /// The small body, with a field that is never the same twice: no two heads are alike.
    static let unlikePath = "/unlike/1k"
    /// The same, and no cache may keep it: every request goes to the server, whatever the session has.
    static let uncachedPath = "/uncached/1k"
    /// The same, and each response sets a cookie to another value.
    static let cookiePath = "/cookie/1k"
    /// The small body, which every cache may keep for an hour.
    static let cachedPath = "/cached/1k"
    /// Redirects to `unlikePath`.
    static let redirectedPath = "/redirected/1k"
    static let slowPath = "/slow/1m"
    static let uploadPath = "/upload/1g"
    static let protocolPath = "/protocol"

    let directory: URL

    /// What nginx serves, and where uploads arrive.
    var root: URL { directory.appendingPathComponent("site", isDirectory: true) }
    /// The children's temporary directory.
    var downloads: URL { directory.appendingPathComponent("downloads", isDirectory: true) }
    var certificate: URL { directory.appendingPathComponent("tls.crt") }
    var key: URL { directory.appendingPathComponent("tls.key") }
    /// The file that the upload sends.
    var uploadSource: URL { root.appendingPathComponent(Self.large.path) }
    private var uploaded: URL { root.appendingPathComponent(Self.uploadPath) }

    init(in parent: URL) throws {
        directory = parent.appendingPathComponent("curl-bench-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let created = directory
        Cleanup.shared.add { try? FileManager.default.removeItem(at: created) }
        for folder in [root, root.appendingPathComponent("slow"), root.appendingPathComponent("upload"), downloads] {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        try Data(repeating: UInt8(ascii: "k"), count: Self.small.bytes).write(to: at(Self.small.path))
        let medium = Data(repeating: UInt8(ascii: "m"), count: Self.medium.bytes)
        try medium.write(to: at(Self.medium.path))
        try medium.write(to: at(Self.slowPath))
        try createLargeFile()
        try createCertificate()
    }

    private func at(_ path: String) -> URL {
        root.appendingPathComponent(path)
    }

    /// A sparse file, read once so that no contender pays for filling the page cache.
    private func createLargeFile() throws {
        let file = at(Self.large.path)
        try Data().write(to: file)
        guard truncate(file.path, off_t(Self.large.bytes)) == 0 else { throw Complaint("cannot create \(file.path)") }
        let handle = try FileHandle(forReadingFrom: file)
        while let chunk = try handle.read(upToCount: 1 << 20), !chunk.isEmpty {}
    }

    /// A self-signed certificate for 127.0.0.1; its elliptic key keeps the server's share of a handshake small.
    private func createCertificate() throws {
        let result = try Command([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", "/CN=CurlNetworking benchmark", "-addext", "subjectAltName=IP:127.0.0.1",
            "-keyout", key.path, "-out", certificate.path,
        ]).run()
        guard result.status == 0 else { throw Complaint("openssl failed: \(result.errors)") }
    }

    /// The size of the file that the last upload left, which is removed; nil when there is none.
    func takeUpload() -> Int? {
        defer { try? FileManager.default.removeItem(at: uploaded) }
        return (try? FileManager.default.attributesOfItem(atPath: uploaded.path))?[.size] as? Int
    }

    /// Removes what a crashed or killed child left behind.
    func removeDownloads() {
        for file in (try? FileManager.default.contentsOfDirectory(at: downloads, includingPropertiesForKeys: nil)) ?? []
        {
            try? FileManager.default.removeItem(at: file)
        }
    }
}
