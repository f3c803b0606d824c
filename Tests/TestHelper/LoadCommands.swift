import CurlNetworking
import Foundation

/// Commands that load something and say what came of it.
enum LoadCommands {
    /// `get URL…`: one after the other, each with its outcome in a line.
    static func get(_ arguments: [String]) async {
        let session = URLSession(configuration: .ephemeral)
        for argument in arguments {
            guard let url = URL(string: argument) else { return Parent.say("no URL: \(argument)") }
            Parent.say(await outcome { try await session.data(from: url) })
        }
    }

    /// `get-when-told URL`: says "ready" when it has a session, and loads with each line that it gets.
    static func getWhenTold(_ arguments: [String]) async {
        guard arguments.count == 1, let url = URL(string: arguments[0]) else { return Parent.say("get-when-told URL") }
        let session = URLSession(configuration: .ephemeral)
        Parent.say("ready")
        for await _ in Parent.lines { Parent.say(await outcome { try await session.data(from: url) }) }
    }

    /// `unverified HOST URL`: with a session that lets `HOST` show any certificate.
    static func getUnverified(_ arguments: [String]) async {
        guard arguments.count == 2, let url = URL(string: arguments[1]) else {
            return Parent.say("unverified HOST URL")
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.curl.hosts[arguments[0]].trustsAnyCertificate = true
        let session = URLSession(configuration: configuration)
        Parent.say(await outcome { try await session.data(from: url) })
    }

    /// `many URL COUNT`: that many at once, each with its outcome in a line.
    static func many(_ arguments: [String]) async {
        guard arguments.count == 2, let url = URL(string: arguments[0]), let count = Int(arguments[1]) else {
            return Parent.say("many URL COUNT")
        }
        let session = URLSession(configuration: .ephemeral)
        await withTaskGroup(of: String.self) { group in
            for _ in 0..<count { group.addTask { await outcome { try await session.data(from: url) } } }
            for await line in group { Parent.say(line) }
        }
    }

    /// `load file|bytes URL` or `load upload URL FILE`: says "ready", waits for a line, loads, and says what came of it. Then
    /// it waits to be looked at.
    static func load(_ arguments: [String]) async throws {
        guard arguments.count >= 2, let url = URL(string: arguments[1]) else { throw Usage(text: "load KIND URL") }
        let session = URLSession(configuration: .ephemeral)
        // The first request makes everything that lives as long as the process.
        _ = try? await session.data(from: url.deletingLastPathComponent().appendingPathComponent("nothing"))
        Parent.say("ready")
        var lines = Parent.lines.makeAsyncIterator()
        _ = await lines.next()
        switch arguments[0] {
        case "file":
            let (file, _) = try await session.download(from: url)
            Parent.say("file \(file.path)")
        case "bytes":
            let (bytes, response) = try await session.bytes(from: url)
            var (count, sum) = (0, 0)
            for try await chunk in bytes.chunks {
                count += chunk.count
                sum += chunk.withUnsafeBytes { Self.sum($0[...]) }
            }
            Parent.say("bytes \(count) \(sum) \(response.expectedContentLength)")
        case "upload":
            var request = URLRequest(url: url)
            request.httpMethod = "PUT"
            let (_, response) = try await session.upload(for: request, fromFile: URL(fileURLWithPath: arguments[2]))
            Parent.say("upload \((response as? HTTPURLResponse)?.statusCode ?? 0)")
        default:
            throw Usage(text: "load \(arguments[0])?")
        }
        _ = await lines.next()
    }

    /// Of almost nothing but zeros, which are passed over quickly.
    private static func sum(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int {
        guard bytes.count > 64 else { return bytes.reduce(0) { $0 + Int($1) } }
        let buffer = UnsafeRawBufferPointer(rebasing: bytes)
        if let start = buffer.baseAddress, buffer[0] == 0, memcmp(start, start + 1, bytes.count - 1) == 0 { return 0 }
        let middle = bytes.startIndex + bytes.count / 2
        return sum(bytes[..<middle]) + sum(bytes[middle...])
    }

    /// "200 HTTP/2.0 CONNECTION BYTES" or "error CODE TEXT".
    static func outcome(_ load: () async throws -> (Data, URLResponse)) async -> String {
        do {
            let (data, response) = try await load()
            guard let response = response as? HTTPURLResponse else { return "no HTTP" }
            let version = response.value(forHTTPHeaderField: "X-Protocol") ?? "?"
            let connection = response.value(forHTTPHeaderField: "X-Connection") ?? "?"
            return "\(response.statusCode) \(version) \(connection) \(data.count)"
        } catch {
            let code = (error as? URLError)?.code.rawValue ?? 0
            return "error \(code) \(error.localizedDescription)"
        }
    }
}
