import Foundation

extension LoopbackServer.Response {
    /// The steps that answer `request`.
    ///
    /// - Parameter date: The value of the `Date` field.
    func steps(for request: LoopbackServer.Request, date: String) -> [LoopbackServer.Step] {
        switch content {
        case .message(let message): preceding + message.steps(for: request, date: date)
        case .steps(let steps): preceding + steps
        }
    }
}

extension LoopbackServer.Response.Message {
    fileprivate func steps(for request: LoopbackServer.Request, date: String) -> [LoopbackServer.Step] {
        let isBodiless = !Self.mayHaveBody(status, request)
        // HTTP/1.0 has no chunks, and neither it nor a body without length leaves the connection open.
        let framing = framing(for: request)
        var keepsAlive = keepsAlive && request.keepsAlive
        if case .untilClose = framing, !isBodiless { keepsAlive = false }

        let head = head(date: date, framing: framing, request: request, keepsAlive: keepsAlive)
        var steps: [LoopbackServer.Step] = [.bytes(head)]
        if !isBodiless, request.method != "HEAD" {
            if let bytesPerSecond { steps.append(.throttle(bytesPerSecond: bytesPerSecond)) }
            steps += framed(framing)
        }
        if !keepsAlive { steps.append(.close) }
        return steps
    }

    private func framing(for request: LoopbackServer.Request) -> LoopbackServer.Response.Framing {
        if case .chunked = framing, request.httpVersion == "HTTP/1.0" { return .untilClose }
        return framing
    }

    /// RFC 9110, sections 6.4.1, 9.3.6 and 15.3.5. A response to HEAD has none either, but describes one.
    private static func mayHaveBody(_ status: Int, _ request: LoopbackServer.Request) -> Bool {
        let isTunnel = request.method == "CONNECT" && (200..<300).contains(status)
        return status >= 200 && status != 204 && status != 304 && !isTunnel
    }

    private func head(
        date: String,
        framing: LoopbackServer.Response.Framing,
        request: LoopbackServer.Request,
        keepsAlive: Bool
    ) -> Data {
        var text = ""
        text.reserveCapacity(512)
        text += "HTTP/1.1 "
        text += String(status)
        text += " "
        text += reason
        text += "\r\n"
        func append(_ name: String, _ value: String) {
            text += name
            text += ": "
            text += value
            text += "\r\n"
        }
        func add(_ name: String, _ value: String) {
            if !headers.contains(where: { isSameName($0.name, name) }) { append(name, value) }
        }
        add("Date", date)
        for (name, value) in headers { append(name, value) }
        if Self.mayHaveBody(status, request) {
            switch framing {
            case .contentLength: add("Content-Length", String(bodyLength))
            case .chunked: add("Transfer-Encoding", "chunked")
            case .untilClose: break
            }
        }
        if !keepsAlive {
            add("Connection", "close")
        } else if request.httpVersion == "HTTP/1.0" {
            add("Connection", "keep-alive")
        }
        text += "\r\n"
        return text.withUTF8 { UnsafeRawBufferPointer($0).data }
    }

    private var bodyLength: Int64 {
        body.reduce(0) { $0 + ($1.payload?.length ?? 0) }
    }

    private func framed(_ framing: LoopbackServer.Response.Framing) -> [LoopbackServer.Step] {
        guard case .chunked(let size, let trailers) = framing else { return body }
        var steps: [LoopbackServer.Step] = body.map { step in
            step.payload.map { .chunks($0, size: size) } ?? step
        }
        let fields = trailers.map { "\($0.name): \($0.value)\r\n" }.joined()
        steps.append(.bytes("0\r\n\(fields)\r\n"))
        return steps
    }
}
