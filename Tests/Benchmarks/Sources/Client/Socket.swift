import Foundation

/// Messages that a server sends back, over so many web sockets at once.
final class Echo: Scenario, Sendable {
    private let arguments: Arguments
    private let session: URLSession
    private let tasks: [URLSessionWebSocketTask]
    private let messages: [URLSessionWebSocketTask.Message]

    /// - Parameter isCompressed: Where the server agrees. Otherwise nothing is compressed.
    init(_ arguments: Arguments, isCompressed: Bool) {
        self.arguments = arguments
        let session = makeSession(connectionsPerHost: arguments.inFlight, compressesMessages: isCompressed)
        self.session = session
        tasks = (0..<arguments.inFlight).map { _ in session.webSocketTask(with: arguments.url) }
        messages =
            isCompressed
            ? (0..<16).map { .string(Self.text(arguments.size, seed: $0)) }
            : [.data(Data(repeating: UInt8(ascii: "a"), count: arguments.size))]
    }

    /// Lines of words in random order, the same as in the raw client.
    private static func text(_ size: Int, seed: UInt32) -> String {
        let words = ["price", "symbol", "volume", "change", "2026-11-22", "EUR", "bid", "ask"]
        var seed = seed
        var text = ""
        while text.utf8.count < size {
            seed = seed &* 1_664_525 &+ 1_013_904_223
            text += "\"\(words[Int(seed >> 29)])\":\(seed >> 12 & 0x3FFF),"
        }
        return String(text.prefix(size))
    }

    func warmUp() async throws -> Tally {
        for task in tasks { task.resume() }
        return await run(2 * tasks.count)
    }

    func slice(_ tally: inout Tally) async -> Report {
        let meter = Meter()
        let results = await run(arguments.requests)
        let reading = meter.stop()
        tally.add(results)
        return reading.report(tally)
    }

    private func run(_ count: Int) async -> Tally {
        await withTaskGroup(of: Tally.self) { group in
            for (index, task) in tasks.enumerated() {
                let share = count / tasks.count + (index < count % tasks.count ? 1 : 0)
                group.addTask { [messages] in
                    var tally = Tally()
                    for number in 0..<share {
                        do {
                            let message = messages[number % messages.count]
                            try await task.send(message)
                            tally.note(Self.isSame(try await task.receive(), message) ? nil : "another message")
                        } catch {
                            tally.note("\(error)")
                        }
                    }
                    return tally
                }
            }
            return await group.reduce(into: Tally()) { $0.add($1) }
        }
    }

    private static func isSame(
        _ received: URLSessionWebSocketTask.Message,
        _ sent: URLSessionWebSocketTask.Message
    ) -> Bool {
        switch (received, sent) {
        case (.data(let received), .data(let sent)): received == sent
        case (.string(let received), .string(let sent)): received == sent
        default: false
        }
    }
}

/// Messages in one direction, over one web socket.
final class Flow: Scenario, Sendable {
    enum Direction { case sending, receiving }

    private let arguments: Arguments
    private let direction: Direction
    private let session: URLSession
    private let task: URLSessionWebSocketTask
    private let payload: Data

    init(_ arguments: Arguments, _ direction: Direction) {
        self.arguments = arguments
        self.direction = direction
        session = makeSession(connectionsPerHost: 1, compressesMessages: false)
        task = session.webSocketTask(with: arguments.url)
        payload = Data(repeating: UInt8(ascii: "a"), count: arguments.size)
    }

    func warmUp() async throws -> Tally {
        task.resume()
        return await run()
    }

    func slice(_ tally: inout Tally) async -> Report {
        let meter = Meter()
        let results = await run()
        let reading = meter.stop()
        tally.add(results)
        return reading.report(tally)
    }

    private func run() async -> Tally {
        var tally = Tally()
        do {
            switch direction {
            case .sending: try await send()
            case .receiving: try await receive(&tally)
            }
        } catch {
            tally.note("\(error)")
        }
        return tally
    }

    /// Returns when the server has everything.
    private func send() async throws {
        for _ in 0..<arguments.requests { try await task.send(.data(payload)) }
        try await task.pong()
    }

    private func receive(_ tally: inout Tally) async throws {
        let order = [arguments.requests, arguments.size].map { UInt64($0).littleEndian }
        try await task.send(.data(order.withUnsafeBytes { Data($0) }))
        for _ in 0..<arguments.requests {
            guard case .data(let data) = try await task.receive(), data == payload else {
                tally.note("another message")
                continue
            }
        }
    }
}

extension URLSessionWebSocketTask {
    /// Returns when the server has answered a ping.
    fileprivate func pong() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            sendPing { error in
                if let error { continuation.resume(throwing: error) } else { continuation.resume() }
            }
        }
    }
}

/// Many open web sockets over which nothing is sent.
final class Sockets: Scenario, Sendable {
    private let arguments: Arguments
    private let session: URLSession
    private let tasks: [URLSessionWebSocketTask]
    private let isOpenBefore: Bool

    /// - Parameter isOpenBefore: Opening them is no part of what is measured.
    init(_ arguments: Arguments, isOpenBefore: Bool) {
        self.arguments = arguments
        self.isOpenBefore = isOpenBefore
        let session = makeSession(connectionsPerHost: arguments.requests, compressesMessages: false)
        self.session = session
        tasks = (0..<arguments.requests).map { _ in session.webSocketTask(with: arguments.url) }
    }

    func warmUp() async throws -> Tally {
        let task = session.webSocketTask(with: arguments.url)
        task.resume()
        // It is open then, and has been used.
        try await task.pong()
        if isOpenBefore {
            let tally = await open()
            try? await Task.sleep(for: .seconds(1))
            return tally
        }
        return Tally()
    }

    func slice(_ tally: inout Tally) async -> Report {
        let meter = Meter()
        if !isOpenBefore { tally.add(await open()) }
        try? await Task.sleep(for: arguments.holding)
        let reading = meter.stop()
        for task in tasks where task.state != .running { tally.note("a web socket ended") }
        return reading.report(tally)
    }

    private func open() async -> Tally {
        for task in tasks { task.resume() }
        var tally = Tally()
        for task in tasks {
            do {
                try await task.pong()
            } catch {
                tally.note("\(error)")
            }
        }
        return tally
    }
}
