import Foundation

extension LoopbackServer {
    /// A place to upload to whose uploads can be resumed, as draft-ietf-httpbis-resumable-upload says, in either of its versions. It can be
    /// told where to cut connections, and asked what it has received.
    ///
    ///     let upload = LoopbackServer.ResumableUpload(version: 6, cuts: [.init(at: 100_000)])
    ///     let server = try LoopbackServer(answering: .atHead) { upload.respond(to: $0) }
    ///
    /// For one upload, by servers that answer at the head.
    package final class ResumableUpload: Sendable {
        /// Where the server breaks a connection.
        package struct Cut: Sendable {
            /// How many bytes of the whole it has by then. It keeps no more than that.
            package let offset: Int64
            /// Nothing is cut before it is opened.
            package let gate: Gate?

            package init(at offset: Int64, after gate: Gate? = nil) {
                (self.offset, self.gate) = (offset, gate)
            }
        }

        private struct State {
            var content = Data()
            var isComplete = false
            var cuts: [Cut]
        }

        package let path: String
        private let version: Int
        private let location: String?
        private let limit: Int?
        private let answer: @Sendable (Data) -> Response
        private let state: Locked<State>

        /// - Parameters:
        ///   - path: The path of the upload's own resource.
        ///   - version: The interoperability version: with 3 it uses `Upload-Incomplete`.
        ///   - location: What the 104 names; the path if nil.
        ///   - limit: The most that a request may append, in bytes; larger ones are refused.
        ///   - cuts: Each for one request with a part of the body, in order.
        ///   - answer: The answer to the complete upload, given its content.
        package init(
            path: String = "/uploads/1",
            version: Int = 6,
            location: String? = nil,
            limit: Int? = nil,
            cuts: [Cut] = [],
            answer: @escaping @Sendable (Data) -> Response = { _ in .text("done") }
        ) {
            (self.path, self.version, self.location, self.limit, self.answer) = (path, version, location, limit, answer)
            state = Locked(State(cuts: cuts))
        }

        /// What the server has.
        package var content: Data { state.withLock { $0.content } }
        package var isComplete: Bool { state.withLock { $0.isComplete } }

        /// Loses everything, as if it had never been there.
        package func forget() {
            state.withLock { ($0.content, $0.isComplete) = (Data(), false) }
        }

        package func respond(to request: Request) -> Response {
            switch (request.path == path, request.method) {
            case (true, "HEAD"): return status(204)
            case (true, "PATCH"): return append(request)
            case (true, "DELETE"):
                forget()
                return .status(204)
            case (true, _): return .status(405)
            case (false, _):
                forget()
                return .raw([.bytes(Self.offer(of: location ?? path, version: version)), receive(request)])
            }
        }

        /// A 104 that offers to resume an upload at `location`.
        package static func offer(of location: String, version: Int) -> String {
            "HTTP/1.1 104 Upload Resumption Supported\r\nUpload-Draft-Interop-Version: \(version)\r\n"
                + "Location: \(location)\r\n\r\n"
        }

        private func append(_ request: Request) -> Response {
            let (count, isComplete) = state.withLock { ($0.content.count, $0.isComplete) }
            guard !isComplete, request.header("Upload-Offset") == "\(count)" else { return status(409) }
            guard version < 6 || request.header("Content-Type") == "application/partial-upload" else {
                return .status(415)
            }
            if let limit, Int(request.header("Content-Length") ?? "") ?? .max > limit { return .status(413) }
            return .raw([receive(request)])
        }

        /// Takes the body, up to the first cut.
        private func receive(_ request: Request) -> Step {
            let (start, cut) = state.withLock { state in
                (state.content.count, state.cuts.isEmpty ? nil : state.cuts.removeFirst())
            }
            let limit = cut.map { max(0, $0.offset - Int64(start)) }
            return .receive(upTo: limit) { [self] request in
                let isCut = limit.map { request.bodyLength >= $0 } ?? false
                let isWhole = request.bodyState == .complete && !isCut
                let isPiece =
                    request.header("Upload-Complete") == "?0" || request.header("Upload-Incomplete") == "?1"
                state.withLock { state in
                    state.content.append(request.body.prefix(Int(limit ?? .max)))
                    state.isComplete = isWhole && !isPiece
                }
                if isWhole, isPiece { return status(204).steps(for: request, date: "") }
                guard isWhole else { return (cut?.gate).map { [.waitFor($0), .reset] } ?? [.reset] }
                return described(answer(content)).steps(for: request, date: "")
            }
        }

        private func status(_ status: Int) -> Response {
            let count = state.withLock { $0.content.count }
            let response = described(.status(status)).header("Upload-Offset", "\(count)")
                .header("Cache-Control", "no-store")
            return limit.map { response.header("Upload-Limit", "max-append-size=\($0)") } ?? response
        }

        private func described(_ response: Response) -> Response {
            let isComplete = isComplete
            return response.header("Upload-Draft-Interop-Version", "\(version)").header(
                version >= 4 ? "Upload-Complete" : "Upload-Incomplete",
                isComplete == (version >= 4) ? "?1" : "?0"
            )
        }
    }
}
