import Foundation
import Glibc

/// What nginx serves, receives and shows as its certificate: a directory that nginx's watchdog removes.
package struct NginxSite: Sendable {
    package let directory: URL

    package static let smallPath = "/small.txt"
    package static let smallText = "Hello from nginx\n"
    /// Text that compresses well.
    package static let textPath = "/text.txt"
    package static let text = String(repeating: "The quick brown fox jumps over the lazy dog.\n", count: 20_000)
    package static let mebibytePath = "/1m"
    /// Sparse; see `largeByte(at:)`.
    package static let largePath = "/300m"
    package static let largeLength = 300 << 20

    package var root: URL { directory.appendingPathComponent("site", isDirectory: true) }
    package var large: URL { root.appendingPathComponent("300m") }
    /// Signed by the authority of `authority`, for 127.0.0.1 and localhost.
    package var certificate: URL { directory.appendingPathComponent("server.pem") }
    package var authority: URL { directory.appendingPathComponent("authority.pem") }
    package var socket: URL { directory.appendingPathComponent("plain.sock") }
    package var tlsSocket: URL { directory.appendingPathComponent("tls.sock") }
    var key: URL { directory.appendingPathComponent("server.key") }
    var configuration: URL { directory.appendingPathComponent("nginx.conf") }
    /// Who may see what is below `/private/`: "user", whose password is "secret".
    var passwords: URL { directory.appendingPathComponent("passwords") }
    var errorLog: URL { directory.appendingPathComponent("error.log") }

    /// Where a PUT to `/upload/<name>` ends up.
    package func upload(_ name: String) -> URL {
        root.appendingPathComponent("upload", isDirectory: true).appendingPathComponent(name)
    }

    /// The content of `/1m`.
    package static let mebibyte: Data = {
        var generator = SystemRandomNumberGenerator()
        return Data((0..<(1 << 17)).flatMap { _ in withUnsafeBytes(of: generator.next() as UInt64) { Array($0) } })
    }()

    /// The large file is zeros, except for one marked byte in each of its mebibytes.
    package static func largeByte(at offset: Int) -> UInt8 {
        offset % (1 << 20) == markOffset ? UInt8(truncatingIfNeeded: 1 + offset >> 20 % 255) : 0
    }

    private static let markOffset = 12_345

    init() throws {
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("nginx-tests-\(UUID().uuidString)", isDirectory: true)
        let uploads = upload("")
        try FileManager.default.createDirectory(at: uploads, withIntermediateDirectories: true)
        try Data(Self.smallText.utf8).write(to: root.appendingPathComponent(Self.smallPath))
        try Data(Self.text.utf8).write(to: root.appendingPathComponent(Self.textPath))
        try Data("user:{PLAIN}secret\n".utf8).write(to: passwords)
        try Self.mebibyte.write(to: root.appendingPathComponent(Self.mebibytePath))
        try createLargeFile()
        try createCertificates()
    }

    private func createLargeFile() throws {
        try Data().write(to: large)
        let file = try FileHandle(forWritingTo: large)
        for offset in stride(from: Self.markOffset, to: Self.largeLength, by: 1 << 20) {
            try file.seek(toOffset: UInt64(offset))
            try file.write(contentsOf: Data([Self.largeByte(at: offset)]))
        }
        try file.truncate(atOffset: UInt64(Self.largeLength))
        try file.close()
    }

    private func createCertificates() throws {
        let ecKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        let (authorityKey, request) = (path("authority.key"), path("server.csr"))
        try openssl(
            ["req", "-x509", "-days", "2", "-subj", "/CN=CurlNetworking test authority"] + ecKey
                + ["-keyout", authorityKey, "-out", authority.path]
        )
        try openssl(["req", "-subj", "/CN=127.0.0.1"] + ecKey + ["-keyout", key.path, "-out", request])
        let names = path("names.cnf")
        try "subjectAltName=IP:127.0.0.1,DNS:localhost\n".write(toFile: names, atomically: true, encoding: .utf8)
        try openssl(
            ["x509", "-req", "-days", "2", "-in", request, "-CA", authority.path, "-CAkey", authorityKey]
                + ["-CAcreateserial", "-extfile", names, "-out", certificate.path]
        )
    }

    private func path(_ name: String) -> String {
        directory.appendingPathComponent(name).path
    }

    private func openssl(_ arguments: [String]) throws {
        let output = path("openssl.log")
        guard try Spawn.run(#"exec openssl "$@""#, arguments, log: output) == .exit(0) else {
            let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
            throw ChildProcess.Failure(description: "openssl \(arguments[0]) failed: \(text)")
        }
    }
}
