import Foundation
import Glibc
import CurlNetworkingLoopbackServer
import CurlNetworkingLocks

/// An HTTP/2 server without TLS that does what a test wants, frame by frame (RFC 9113). It reads no header fields. It opens the
/// flow-control window again for every byte of a body that it gets, and sends no more of one than the client's windows allow.
///
/// One thread for each connection and one for each answer. It ends with `stop()`, which every test must call.
package final class ScriptedHTTP2Server: Sendable {
    package struct Request: Sendable {
        /// From 1, over all connections.
        package let number: Int
        /// From 1.
        package let connection: Int
        /// The stream's identifier: 1, 3, 5 and so on.
        package let stream: UInt32
        /// Opened when the whole request has arrived, or no more of it will.
        fileprivate let end = Gate()
    }

    package enum Step: Sendable {
        /// A block of header fields; see `fields`.
        case headers(Data, ends: Bool)
        case data(Data, ends: Bool)
        /// Frames of DATA without content, until the connection is over.
        case endlessFrames
        /// RST_STREAM with an error code (RFC 9113 §7).
        case reset(UInt32)
        /// GOAWAY: streams beyond the last are not processed.
        case goAway(lastStream: UInt32, code: UInt32)
        /// The connection is closed.
        case hangUp
        case waitFor(Gate)
        /// Tells a test that the server has got this far.
        case open(Gate)
        /// Continues when the request's body is complete.
        case waitForBody
        /// Lets the client send this many more bytes of the request's body.
        case grant(UInt32)
        /// Frames as they are to arrive, in one piece; see `frame`.
        case frames([Data])
    }

    package struct State: Sendable {
        package var requests: [Request] = []
        package var connections = 0
        /// What has arrived of each request's body, by the request's number.
        package var bodies: [Int: Data] = [:]
        /// The numbers of the requests that the client has reset, or whose connection has ended, before the end of their answers.
        package var abandoned: [Int] = []
        /// How many requests were refused because of the limit of streams.
        package var refusals = 0
    }

    package var port: Int { sockets.port }
    package let state = Watched(State())
    private let sockets: ServerSockets
    private let maximumStreams: UInt32
    private let refusesMore: Bool
    private let window: UInt32?
    private let laterAnswer: Data?
    private let script: @Sendable (Request) -> [Step]

    /// `script` is asked with each request once its header fields are complete.
    ///
    /// - Parameters:
    ///   - path: That of a Unix domain socket to listen on; nil for TCP.
    ///   - maximumStreams: How many requests the server says it takes at once on a connection.
    ///   - refusesMore: Whether it refuses those beyond.
    ///   - window: How many bytes of a body may be sent before the server allows more; nil for the protocol's default, 65,535.
    ///   - laterAnswer: What each connection but the first gets for its first bytes, instead of HTTP/2; nothing follows there.
    package init(
        path: String? = nil,
        maximumStreams: UInt32 = 100,
        refusesMore: Bool = false,
        window: UInt32? = nil,
        laterAnswer: Data? = nil,
        script: @escaping @Sendable (Request) -> [Step]
    ) throws {
        sockets =
            if let path {
                try ServerSockets(path: path, backlog: 4096, for: "HTTP/2")
            } else {
                try ServerSockets(backlog: 4096, for: "HTTP/2")
            }
        self.maximumStreams = maximumStreams
        self.refusesMore = refusesMore
        self.window = window
        self.laterAnswer = laterAnswer
        self.script = script
        sockets.acceptAll { [self] socket in
            // Small frames don't wait for each other.
            var isOn: Int32 = 1
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
            let number = state.update { state in
                state.connections += 1
                return state.connections
            }
            let connection = Connection(socket: socket, number: number)
            Thread { self.serve(connection) }.start()
        }
    }

    package func url(_ path: String = "/") -> URL {
        URL(string: "http://127.0.0.1:\(port)\(path)") ?? URL(fileURLWithPath: path)
    }

    package func stop() {
        sockets.stop()
    }

    // MARK: - Answers

    /// A complete answer with this body.
    package static func text(_ text: String) -> [Step] {
        [.headers(fields(), ends: false), .data(Data(text.utf8), ends: true)]
    }

    /// A block of header fields, each written out (RFC 7541 §6.2.2).
    package static func fields(status: Int = 200, _ fields: [(name: String, value: String)] = []) -> Data {
        block([(":status", "\(status)")] + fields)
    }

    /// What may follow a body.
    package static func trailers(_ fields: [(name: String, value: String)]) -> Data {
        block(fields)
    }

    private static func block(_ fields: [(String, String)]) -> Data {
        fields.reduce(into: Data()) { block, field in
            block.append(0)
            for text in [field.0, field.1] { block.append(string(text)) }
        }
    }

    package static func frame(_ type: FrameType, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: Data = Data()) -> Data
    {
        var frame = Data([
            UInt8(payload.count >> 16), UInt8(payload.count >> 8 & 0xff), UInt8(payload.count & 0xff),
        ])
        frame.append(contentsOf: [type.rawValue, flags])
        frame.append(stream.bigEndianBytes)
        frame.append(payload)
        return frame
    }

    /// A string without Huffman coding (RFC 7541 §5.1, §5.2).
    private static func string(_ text: String) -> Data {
        var rest = text.utf8.count
        var bytes = Data()
        if rest < 127 {
            bytes.append(UInt8(rest))
        } else {
            bytes.append(127)
            rest -= 127
            while rest >= 128 {
                bytes.append(UInt8(rest % 128 + 128))
                rest /= 128
            }
            bytes.append(UInt8(rest))
        }
        return bytes + Data(text.utf8)
    }

    // MARK: - One connection

    private final class Connection: Sendable {
        let socket: Int32
        let number: Int
        /// The requests in progress.
        let streams = Mutex<[UInt32: Request]>([:])
        let windows = Mutex(Windows())
        private let sending = Mutex(())

        init(socket: Int32, number: Int) {
            (self.socket, self.number) = (socket, number)
        }

        func send(_ type: FrameType, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: Data = Data()) {
            let frame = ScriptedHTTP2Server.frame(type, flags: flags, stream: stream, payload)
            sending.withLock { _ in _ = write(frame) }
        }

        func send(_ bytes: Data) {
            sending.withLock { _ in _ = write(bytes) }
        }

        /// Sends part of a body, as the client's windows allow.
        func send(body: Data, ends: Bool, stream: UInt32) {
            var rest = body
            repeat {
                guard let count = takeWindow(of: stream, upTo: rest.count) else { return }
                let part = rest.prefix(count)
                rest = Data(rest.dropFirst(count))
                send(.data, flags: rest.isEmpty && ends ? endStream : 0, stream: stream, Data(part))
            } while !rest.isEmpty
        }

        /// Waits for at least one byte, unless `count` is 0; nil if the connection is over.
        private func takeWindow(of stream: UInt32, upTo count: Int) -> Int? {
            while true {
                let (taken, change) = windows.withLock { ($0.take(upTo: count, of: stream), $0.change) }
                if taken > 0 || count == 0 { return taken }
                guard let change else { return nil }
                change.waitBlocking()
            }
        }

        /// Sends frames without flags and content, as fast as they are taken, until the connection is over.
        func sendEndlessly(_ type: FrameType, stream: UInt32) {
            let frame = ScriptedHTTP2Server.frame(type, stream: stream)
            let frames = Data(repeatElement(frame, count: 4096).joined())
            while sending.withLock({ _ in write(frames) }) {}
        }

        /// False if the connection is over.
        private func write(_ bytes: Data) -> Bool { BlockingSocket.send(bytes, to: socket) }

        /// nil if the connection is over.
        func readFrame() -> Frame? {
            guard let head = read(9) else { return nil }
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            let stream = head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
            guard let payload = read(length) else { return nil }
            return Frame(type: FrameType(rawValue: head[3]), flags: head[4], stream: stream, payload: payload)
        }

        /// nil if the connection is over.
        func read(_ count: Int) -> Data? {
            var data = Data(count: count)
            var offset = 0
            while offset < count {
                let part = data.withUnsafeMutableBytes {
                    recv(socket, $0.baseAddress.map { $0 + offset }, count - offset, 0)
                }
                guard part > 0 else { return nil }
                offset += part
            }
            return data
        }
    }

    /// How many bytes of bodies the client takes (RFC 9113 §6.9).
    private struct Windows {
        private var connection = 65_535
        private var initial = 65_535
        /// What each stream has beyond the initial window.
        private var streams: [UInt32: Int] = [:]
        /// Opened when there is more; nil when the connection is over.
        private(set) var change: Gate? = Gate()

        mutating func take(upTo count: Int, of stream: UInt32) -> Int {
            let taken = max(0, min(count, connection, initial + streams[stream, default: 0]))
            connection -= taken
            streams[stream, default: 0] -= taken
            return taken
        }

        /// Without a stream, the connection's.
        mutating func add(_ count: Int, to stream: UInt32) {
            if stream == 0 { connection += count } else { streams[stream, default: 0] += count }
            noteChange()
        }

        mutating func setInitial(_ count: Int) {
            initial = count
            noteChange()
        }

        mutating func end() {
            change.take()?.open()
        }

        private mutating func noteChange() {
            change?.open()
            if change != nil { change = Gate() }
        }
    }

    private struct Frame {
        /// nil for one of another kind.
        let type: FrameType?
        let flags: UInt8
        let stream: UInt32
        let payload: Data

        /// The value of a setting (RFC 9113 §6.5.1); nil if it isn't there.
        func setting(_ identifier: UInt16) -> Int? {
            let bytes = [UInt8](payload)
            let start = stride(from: 0, to: bytes.count - 5, by: 6)
                .first { Data(bytes[$0..<($0 + 2)]) == identifier.bigEndianBytes }
            return start.map { bytes[($0 + 2)..<($0 + 6)].reduce(0) { $0 << 8 | Int($1) } }
        }
    }

    package enum FrameType: UInt8, Sendable {
        case data = 0, headers, priority, resetStream, settings, pushPromise, ping, goAway, windowUpdate, continuation
    }

    package static let endStream: UInt8 = 1
    private static let acknowledgement: UInt8 = 1
    package static let endHeaders: UInt8 = 4

    // RFC 9113 §6.5.2, §7
    private static let maximumStreamsSetting: UInt16 = 3
    private static let windowSetting: UInt16 = 4
    private static let refusedStream: UInt32 = 7

    private func serve(_ connection: Connection) {
        defer {
            abandon(connection.streams.withLock { Array($0.values) })
            connection.windows.withLock { $0.end() }
        }
        if let laterAnswer, connection.number > 1 {
            if connection.read(1) != nil { connection.send(laterAnswer) }
            return
        }
        guard connection.read(24) == Data("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) else {
            shutdown(connection.socket, Int32(SHUT_RDWR))
            return
        }
        var settings = Self.maximumStreamsSetting.bigEndianBytes + maximumStreams.bigEndianBytes
        if let window { settings += Self.windowSetting.bigEndianBytes + window.bigEndianBytes }
        connection.send(.settings, settings)
        while let frame = connection.readFrame() { received(frame, connection) }
    }

    private func received(_ frame: Frame, _ connection: Connection) {
        switch frame.type {
        case .headers where frame.flags & Self.endHeaders != 0,
            .continuation where frame.flags & Self.endHeaders != 0:
            answer(connection, frame.stream)
        case .data:
            received(frame.payload, connection, frame.stream)
        case .settings where frame.flags & Self.acknowledgement == 0:
            if let window = frame.setting(Self.windowSetting) { connection.windows.withLock { $0.setInitial(window) } }
            connection.send(.settings, flags: Self.acknowledgement)
        case .windowUpdate:
            let count = frame.payload.reduce(0) { $0 << 8 | Int($1) } & 0x7fff_ffff
            connection.windows.withLock { $0.add(count, to: frame.stream) }
        case .ping where frame.flags & Self.acknowledgement == 0:
            connection.send(.ping, flags: Self.acknowledgement, frame.payload)
        default:
            break
        }
        if frame.type == .resetStream {
            abandon(connection.streams.withLock { $0.removeValue(forKey: frame.stream).map { [$0] } ?? [] })
        } else if frame.type == .headers || frame.type == .data, frame.flags & Self.endStream != 0 {
            connection.streams.withLock { $0[frame.stream] }?.end.open()
        }
    }

    private func abandon(_ requests: [Request]) {
        state.update { $0.abandoned += requests.map(\.number) }
        for request in requests { request.end.open() }
    }

    private func received(_ body: Data, _ connection: Connection, _ stream: UInt32) {
        guard !body.isEmpty else { return }
        connection.send(.windowUpdate, UInt32(body.count).bigEndianBytes)
        if let request = connection.streams.withLock({ $0[stream] }) {
            state.update { $0.bodies[request.number, default: Data()].append(body) }
        }
        if window != 0 { connection.send(.windowUpdate, stream: stream, UInt32(body.count).bigEndianBytes) }
    }

    private func answer(_ connection: Connection, _ stream: UInt32) {
        guard !refusesMore || connection.streams.withLock(\.count) < maximumStreams else {
            state.update { $0.refusals += 1 }
            return connection.send(.resetStream, stream: stream, Self.refusedStream.bigEndianBytes)
        }
        let request = state.update { state in
            let request = Request(number: state.requests.count + 1, connection: connection.number, stream: stream)
            state.requests.append(request)
            return request
        }
        connection.streams.withLock { $0[stream] = request }
        let steps = script(request)
        Thread {
            for step in steps {
                // A client that gets the end of an answer may send another request at once.
                if step.ends { connection.streams.withLock { $0[stream] = nil } }
                Self.perform(step, connection, request)
            }
        }.start()
    }

    private static func perform(_ step: Step, _ connection: Connection, _ request: Request) {
        let stream = request.stream
        switch step {
        case .headers(let block, let ends):
            // A frame holds 16 KiB, and nothing may come between those of one head (RFC 9113 §6.10).
            var frames = Data()
            var rest = block[...]
            repeat {
                let part = rest.prefix(16384)
                rest = rest.dropFirst(part.count)
                let flags = (rest.isEmpty ? endHeaders : 0) | (frames.isEmpty && ends ? endStream : 0)
                frames += frame(frames.isEmpty ? .headers : .continuation, flags: flags, stream: stream, Data(part))
            } while !rest.isEmpty
            connection.send(frames)
        case .data(let data, let ends):
            connection.send(body: data, ends: ends, stream: stream)
        case .endlessFrames:
            connection.sendEndlessly(.data, stream: stream)
        case .reset(let code):
            connection.send(.resetStream, stream: stream, code.bigEndianBytes)
        case .goAway(let lastStream, let code):
            connection.send(.goAway, lastStream.bigEndianBytes + code.bigEndianBytes)
        case .hangUp:
            shutdown(connection.socket, Int32(SHUT_RDWR))
        case .waitFor(let gate):
            gate.waitBlocking()
        case .open(let gate):
            gate.open()
        case .waitForBody:
            request.end.waitBlocking()
        case .grant(let count):
            connection.send(.windowUpdate, stream: stream, count.bigEndianBytes)
        case .frames(let frames):
            connection.send(Data(frames.joined()))
        }
    }
}

extension ScriptedHTTP2Server.Step {
    fileprivate var ends: Bool {
        switch self {
        case .headers(_, let ends), .data(_, let ends): ends
        case .reset, .hangUp: true
        case .endlessFrames, .goAway, .waitFor, .open, .waitForBody, .grant, .frames: false
        }
    }
}

extension FixedWidthInteger {
    package var bigEndianBytes: Data {
        withUnsafeBytes(of: bigEndian) { Data($0) }
    }
}
