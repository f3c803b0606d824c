import Foundation

/// The course of a demo, and whether it went as it should.
struct DemoStory {
    enum Role: Sendable {
        /// Downloaded in one go.
        case straight
        /// Paused here, and resumed by another process.
        case moved
        /// Cancelled.
        case dropped
        /// Downloaded in the background, by a program that was killed.
        case survived
    }

    struct Chapter {
        let item: DownloadItem
        let role: Role
        /// Its final state.
        var download: Download?
        /// The file's length, if it's there.
        var bytes: Int64?
        var digest: String?

        var isIntact: Bool { digest != nil && digest == item.sha256 }
    }

    /// The server's record of a request for part of a file.
    struct RangeRequest {
        var range: String
        var hasCondition: Bool
        var bytesSent: Int64
    }

    /// A program that was killed during its background downloads.
    struct Kill {
        var process: Int32
        /// How far each download had got, by its file's name.
        var positions: [String: Int64] = [:]
        var wasKilled = false
        /// Whether nothing is downloading any more.
        var isAgentGone = false
        /// How much of each file the server had sent at that point, and the number of requests.
        var sent: [String: Int64] = [:]
        var requests = 0
        /// How many there were at the end.
        var requestsAtEnd: Int?
        /// The files that the next program got.
        var delivered: Set<String> = []
        var nextStatus: Int32?
    }

    /// An upload whose connection broke.
    struct Upload {
        struct Request: Equatable {
            var method: String
            /// The offset at which the request says it continues.
            var offset: String?
        }

        /// In bytes.
        var length: Int64
        /// How much the catalogue had when it broke, in bytes.
        var brokenAt: Int64
        var requests: [Request] = []
        var receipt: Recordings.Receipt?
    }

    var isFirstSearchCancelled = false
    var found = 0
    /// The most downloads seen receiving bytes at the same time.
    var ranAtOnce = 0
    var chapters: [Chapter] = []
    var pausedAt: Int64?
    var child: Int32?
    var childStatus: Int32?
    var childResumedAt: Int64?
    var rangeRequests: [RangeRequest] = []
    var kill: Kill?
    var upload: Upload?
    /// Files in the folder that shouldn't be there.
    var leftovers: [String] = []
    /// Why it was cut short.
    var interruption: String?

    static let downloads = 4

    /// The demo's claims, and whether they held.
    var claims: [(text: String, holds: Bool)] {
        let finished = chapters.filter { $0.role != .dropped }
        let dropped = chapters.filter { $0.role == .dropped }
        var claims: [(text: String, holds: Bool)] = [
            ("the second query cancelled the first and found songs", isFirstSearchCancelled && found >= Self.downloads),
            ("\(Self.downloads) downloads ran at once", ranAtOnce == Self.downloads),
            ("one was paused, and another process continued where it stopped", isResumedWhereItWas),
            ("the server saw a request for the rest, and sent only that", isRestRequested),
            ("one was cancelled and is gone", !dropped.isEmpty && dropped.allSatisfy { $0.isGone }),
            ("when a program was killed, its downloads were finished without it", isFinishedWithoutProgram),
            ("the next program got them, and asked the server for nothing", isDeliveredLater),
            ("an upload whose connection broke resumed from what the catalogue had", isUploaded),
            ("every finished file has the catalogue's SHA-256", !finished.isEmpty && finished.allSatisfy(\.isIntact)),
            ("nothing else is left behind", leftovers.isEmpty),
        ]
        if let interruption { claims.append((interruption, false)) }
        return claims
    }

    private var isResumedWhereItWas: Bool {
        guard let pausedAt, let childResumedAt else { return false }
        // Bytes may have been written after the last progress report.
        return childStatus == ExitCode.success && pausedAt > 0 && childResumedAt >= pausedAt
    }

    private var survivors: [Chapter] { chapters.filter { $0.role == .survived } }

    private var isFinishedWithoutProgram: Bool {
        guard let kill, kill.wasKilled, kill.isAgentGone, !survivors.isEmpty else { return false }
        return kill.requests == survivors.count
            && survivors.allSatisfy { chapter in
                guard let bytes = chapter.bytes, let position = kill.positions[chapter.item.fileName] else {
                    return false
                }
                return position > 0 && position < bytes && kill.sent[chapter.item.fileName] ?? 0 >= bytes
            }
    }

    private var isDeliveredLater: Bool {
        guard let kill, kill.nextStatus == ExitCode.success, kill.requestsAtEnd == kill.requests else { return false }
        return !survivors.isEmpty && survivors.allSatisfy { kill.delivered.contains($0.item.fileName) }
    }

    /// The first complete download is sent back.
    private var isUploaded: Bool {
        guard let upload, let receipt = upload.receipt, let sent = chapters.first(where: { $0.role == .straight })
        else {
            return false
        }
        return upload.requests == [
            .init(method: "POST"), .init(method: "HEAD"), .init(method: "PATCH", offset: "\(upload.brokenAt)"),
        ] && receipt.length == upload.length && receipt.sha256 == sent.item.sha256
    }

    private var isRestRequested: Bool {
        guard let childResumedAt, let length = chapters.first(where: { $0.role == .moved })?.bytes else { return false }
        return rangeRequests.contains { request in
            request.range == "bytes=\(childResumedAt)-" && request.hasCondition
                && request.bytesSent >= length - childResumedAt && request.bytesSent < length
        }
    }

    // MARK: - The closing table

    var table: [String] {
        let rows = [["Track", "Bytes", "How", "SHA-256"]] + chapters.map(row)
        let widths = (0..<4).map { column in rows.map { $0[column].columns }.max() ?? 0 }
        return rows.map { row in
            let bytes = row[1].fittedRight(to: widths[1])
            return [row[0].fitted(to: widths[0]), bytes, row[2].fitted(to: widths[2]), row[3]].joined(separator: "  ")
        }
    }

    private func row(_ chapter: Chapter) -> [String] {
        let bytes = chapter.bytes.map(ByteCount.exact) ?? "-"
        let digest = chapter.digest == nil ? "-" : chapter.isIntact ? "ok" : "WRONG"
        return [chapter.item.title.printable.fitted(to: 32), bytes, course(of: chapter), digest]
    }

    private func course(of chapter: Chapter) -> String {
        switch chapter.role {
        case .straight:
            return chapter.bytes == nil ? "not finished" : "in one go"
        case .moved:
            guard pausedAt != nil else { return "not paused" }
            guard let child, let childResumedAt else { return "paused, not resumed" }
            return "resumed at \(ByteCount.exact(childResumedAt)) by process \(child)"
        case .dropped:
            return chapter.isGone ? "cancelled at \(ByteCount.exact(chapter.download?.received ?? 0))" : "not cancelled"
        case .survived:
            guard let kill, kill.wasKilled else { return "not finished" }
            let position = kill.positions[chapter.item.fileName] ?? 0
            return "without its program, killed at \(ByteCount.exact(position))"
        }
    }
}

extension DemoStory.Chapter {
    fileprivate var isGone: Bool { download?.state == .cancelled && bytes == nil }
}
