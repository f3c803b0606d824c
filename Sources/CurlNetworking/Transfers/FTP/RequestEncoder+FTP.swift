import CurlTransport
import Foundation

extension RequestEncoder {
    /// In bytes: libcurl sends no command that is longer than 64 KiB, and would report a lack of memory.
    private static let longestFTPURL = 60 * 1024

    /// A request with a body stores it, HEAD queries the file's attributes, and GET fetches the file from `offset` on. Header fields are
    /// ignored.
    static func ftpOptions(
        for request: URLRequest,
        at origin: Origin,
        body: (any RequestBody)?,
        offset: Int64,
        replyTimeout: Duration
    ) throws(URLError) -> FTPOptions {
        let url = try request.requiredURL
        let method = request.httpMethod ?? "GET"
        guard ["GET", "HEAD", "PUT", "POST"].contains(method) else {
            throw URLError(.badURL, url: url, "FTP has no method \(method.debugDescription).")
        }
        let (text, credentials) = try transportURL(of: url, at: origin)
        guard text.utf8.count <= longestFTPURL else { throw URLError(.badURL, url: url, "The URL is too long.") }
        // Each is sent on its own line: a line break would turn the rest into commands.
        if let credentials,
            (credentials.user + credentials.password).unicodeScalars.contains(where: { $0.value < 0x20 })
        {
            throw URLError(.badURL, url: url, "The URL's user name or password is not valid.")
        }
        let direction: FTPOptions.Direction
        if let body {
            direction = .upload(body.length.map { .known($0) } ?? .chunked)
        } else {
            direction = method == "HEAD" ? .attributes : .download(offset: offset)
        }
        var options = FTPOptions(url: text, direction: direction)
        options.credentials = credentials
        options.replyTimeout = replyTimeout
        return options
    }
}
