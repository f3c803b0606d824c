import CurlNetworking
import CurlNetworkingExampleSupport
import Foundation

/// Sends a form with files of any size.
@main
struct MultipartUploader {
    static let usage = "usage: curlnetworking-multipart-uploader URL NAME=VALUE|NAME=@FILE..."

    static func main() async {
        var words = CommandLine.arguments.dropFirst()
        guard let url = words.popFirst().flatMap(URL.init(string:)), url.host != nil, !words.isEmpty else {
            fail(usage, code: 64)
        }
        do {
            let form = makeForm(Array(words))
            let (status, text) = try await untilInterrupted { try await upload(form, to: url) }
            guard 200..<300 ~= status else { fail("the server refused: \(status) \(text)") }
            say(text)
        } catch is CancellationError {
            fail("interrupted", code: 130)
        } catch {
            fail(error.localizedDescription)
        }
    }

    static func makeForm(_ words: [String]) -> MultipartForm {
        var form = MultipartForm()
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty else { fail(usage, code: 64) }
            if parts[1].hasPrefix("@") {
                let file = URL(fileURLWithPath: String(parts[1].dropFirst()))
                do {
                    try form.add(field: parts[0], file: file)
                } catch {
                    fail("\(file.path): \(error.localizedDescription)")
                }
            } else {
                form.add(field: parts[0], value: parts[1])
            }
        }
        return form
    }

    static func upload(_ form: MultipartForm, to url: URL) async throws -> (Int, String) {
        let session = URLSession(configuration: .ephemeral)
        defer { session.finishTasksAndInvalidate() }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue(form.contentType, forHTTPHeaderField: "Content-Type")
        request.setValue("\(form.length)", forHTTPHeaderField: "Content-Length")
        request.httpBodyStream = form.makeStream()
        let (data, response) = try await session.data(for: request, delegate: UploadDelegate(form))
        return ((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
    }
}

/// Tells how far the upload is, and gives the body once more where it has to be sent once more.
private final class UploadDelegate: NSObject, URLSessionTaskDelegate {
    private let form: MultipartForm

    init(_ form: MultipartForm) {
        self.form = form
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        let total = max(1, totalBytesExpectedToSend)
        let percent = 100 * totalBytesSent / total
        guard percent > 100 * (totalBytesSent - bytesSent) / total else { return }
        note("\(percent) %")
    }

    /// Behind a redirect with 307 or 308, say.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(form.makeStream())
    }
}
