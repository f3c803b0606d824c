import Foundation

#if STOCK
    import FoundationNetworking
#else
    import CurlNetworking
#endif

/// `fetch URL [FILE]`: a small program as it is deployed. The body goes to standard output, or is downloaded to FILE; the status, or
/// the error's code and text, goes to standard error.
@main
enum Fetch {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.count == 1 || words.count == 2, let url = URL(string: words[0]) else {
            end("fetch URL [FILE]", 2)
        }
        do {
            let response =
                words.count == 1 ? try await print(url) : try await download(url, to: URL(fileURLWithPath: words[1]))
            end("\((response as? HTTPURLResponse)?.statusCode ?? 0)", 0)
        } catch {
            let error = error as NSError
            end("\(error.domain) \(error.code) \(error.localizedDescription)", 1)
        }
    }

    private static func print(_ url: URL) async throws -> URLResponse {
        let (body, response) = try await URLSession.shared.data(from: url)
        try FileHandle.standardOutput.write(contentsOf: body)
        return response
    }

    private static func download(_ url: URL, to destination: URL) async throws -> URLResponse {
        let (file, response) = try await URLSession.shared.download(from: url)
        try FileManager.default.moveItem(at: file, to: destination)
        return response
    }

    private static func end(_ text: String, _ status: Int32) -> Never {
        try? FileHandle.standardError.write(contentsOf: Data("\(text)\n".utf8))
        exit(status)
    }
}
