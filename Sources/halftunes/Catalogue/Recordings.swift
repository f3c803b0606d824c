import CurlNetworking
import CurlNetworkingLocks
import CurlNetworkingLoopbackServer
import Foundation

/// The recordings that were uploaded to the catalogue, kept in memory for as long as it runs.
///
/// `POST /recordings` takes one, and the response names the recording's address and checksum. An upload can be resumed, as
/// in draft-ietf-httpbis-resumable-upload.
final class Recordings: Sendable {
    typealias Cut = LoopbackServer.ResumableUpload.Cut

    /// What the catalogue has received.
    struct Receipt: Codable, Equatable, Sendable {
        /// Where the recording can be downloaded.
        let recordingUrl: String
        /// In bytes.
        let length: Int
        let sha256: String
    }

    /// The largest recording, in bytes: no server stores more of a body.
    static let largest = LoopbackServer.Options().bodyLimit
    static let most = 16

    private struct Uploads {
        var all: [LoopbackServer.ResumableUpload] = []
        /// For the first upload.
        var cuts: [Cut]
    }

    private let uploads: Mutex<Uploads>

    /// - Parameter cuts: Where the first upload's connections break.
    init(cuts: [Cut] = []) {
        uploads = Mutex(Uploads(cuts: cuts))
    }

    /// nil for a request that isn't about recordings.
    func response(to request: LoopbackServer.Request, at server: String) -> LoopbackServer.Response? {
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        switch (parts.first, parts.count) {
        case ("recordings", 1): return begin(request, at: server)
        case ("recordings", 2): return recording(String(parts.last ?? ""), request)
        case ("uploads", 2): return goOn(request)
        default: return nil
        }
    }

    private func begin(_ request: LoopbackServer.Request, at server: String) -> LoopbackServer.Response {
        guard request.method == "POST" else {
            return .text("Recordings are uploaded with POST.\n", status: 405).header("Allow", "POST")
        }
        guard request.header("Content-Type")?.hasPrefix("audio/") == true else {
            return .text("Only audio.\n", status: 415)
        }
        if let refusal = Self.refusal(of: request, after: 0) { return refusal }
        let upload = uploads.withLock { uploads -> LoopbackServer.ResumableUpload? in
            guard uploads.all.count < Self.most else { return nil }
            let number = uploads.all.count + 1
            let upload = LoopbackServer.ResumableUpload(path: "/uploads/\(number)", cuts: uploads.cuts) { content in
                Self.receipt(for: content, at: "\(server)/recordings/\(number).wav")
            }
            uploads.all.append(upload)
            uploads.cuts = []
            return upload
        }
        return upload?.respond(to: request) ?? .text("There is no room for more recordings.\n", status: 507)
    }

    private func goOn(_ request: LoopbackServer.Request) -> LoopbackServer.Response {
        guard let upload = uploads.withLock({ $0.all }).first(where: { $0.path == request.path }) else {
            return .text("There is no such upload.\n", status: 404)
        }
        if request.method == "PATCH", let refusal = Self.refusal(of: request, after: upload.content.count) {
            return refusal
        }
        return upload.respond(to: request)
    }

    /// The response to a body that is too long, or whose length isn't known; nil for others.
    private static func refusal(of request: LoopbackServer.Request, after count: Int) -> LoopbackServer.Response? {
        guard let length = request.header("Content-Length").flatMap({ Int($0) }) else {
            return .text("How long is it?\n", status: 411)
        }
        return length <= largest - count ? nil : .text("No more than \(largest) bytes.\n", status: 413)
    }

    private static func receipt(for content: Data, at url: String) -> LoopbackServer.Response {
        let receipt = Receipt(recordingUrl: url, length: content.count, sha256: SHA256.digest(of: content))
        // Without a `Location`: libcurl 8.17 and newer refuse one that differs from that of the upload's 104.
        return .json(receipt, status: 201)
    }

    private func recording(_ name: String, _ request: LoopbackServer.Request) -> LoopbackServer.Response {
        guard ["GET", "HEAD"].contains(request.method) else {
            return .text("Only GET and HEAD.\n", status: 405).header("Allow", "GET, HEAD")
        }
        guard name.hasSuffix(".wav"), let number = Int(name.dropLast(4)), name == "\(number).wav",
            let upload = uploads.withLock({ $0.all }).first(where: { $0.path == "/uploads/\(number)" }),
            upload.isComplete
        else { return .text("There is nothing here.\n", status: 404) }
        let content = upload.content
        let tag = String(SHA256.digest(of: content).prefix(16))
        return .resource(.data(content), for: request, etag: tag, contentType: "audio/wav")
    }
}
