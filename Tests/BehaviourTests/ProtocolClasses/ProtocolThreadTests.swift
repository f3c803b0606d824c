import CurlNetworking
import Foundation
import TestSupport
import CurlNetworkingLoopbackServer
import Testing

@Suite("The threads of protocol classes", .timeLimit(.minutes(1)))
struct ProtocolThreadTests {
    /// Answers when a timer fires that it has scheduled.
    private final class Timed: MockProtocol, @unchecked Sendable {
        // @unchecked: only its thread uses it.
        private var timer: Timer?
        static let stopped = Watched<[Bool]>([])

        override func startLoading() {
            let thread = ObjectIdentifier(Thread.current)
            timer = Timer.scheduledTimer(withTimeInterval: 0.001, repeats: false) { [weak self] _ in
                self?.answer(ObjectIdentifier(Thread.current) == thread ? "same thread" : "another thread")
            }
        }

        override func stopLoading() {
            let isValid = timer?.isValid ?? false
            timer?.invalidate()
            Self.stopped.update { $0.append(isValid) }
        }
    }

    @Test("A timer that an object schedules fires, on the object's thread")
    func timer() async throws {
        let network = MockNetwork { _ in }
        let session = network.session(classes: [Timed.self])
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url()).text == "same thread")
        try await Timed.stopped.wait { $0 == [false] }
    }

    /// Waits for data in the run loop itself, as synchronous code does, and is told to stop within that.
    private final class Nested: MockProtocol, @unchecked Sendable {
        // @unchecked: only its thread uses it.
        private var isStopped = false
        static let began = Gate()
        static let ended = Gate()

        override func startLoading() {
            Self.began.open()
            while !isStopped { _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01)) }
            Self.ended.open()
        }

        override func stopLoading() { isStopped = true }
    }

    @Test("An object that runs its run loop itself hears that it is to stop")
    func nested() async throws {
        let network = MockNetwork { _ in }
        let session = network.session(classes: [Nested.self])
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: network.url()) { _, _, _ in }
        task.resume()
        try await Nested.began.wait()
        task.cancel()
        try await Nested.ended.wait()
    }

    @Test("While one object runs the loop, others of its thread are told to stop")
    func nestedStop() async throws {
        final class Pair: MockProtocol, @unchecked Sendable {
            static let (started, stopped) = (Watched(0), Watched<[String]>([]))
            static let (isBlocking, opened) = (Gate(), Gate())

            override func startLoading() {
                Self.started.update { $0 += 1 }
                guard request.url?.path == "/blocked" else { return }
                Self.isBlocking.open()
                Self.opened.waitBlocking()
            }

            /// Whichever is first waits for the other one.
            override func stopLoading() {
                let path = request.url?.path ?? ""
                Self.stopped.update { $0.append(path) }
                while path != "/blocked", Self.stopped.value.count(where: { $0 != "/blocked" }) < 2 {
                    _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01))
                }
            }
        }
        let network = MockNetwork { _ in }
        let session = network.session(classes: [Pair.self])
        defer { session.invalidateAndCancel() }
        func start(_ path: String) -> Task<Void, any Error> {
            Task { _ = try await session.data(from: network.url(path)) }
        }
        let tasks = [start("/one"), start("/two")]
        try await Pair.started.wait { $0 == 2 }
        // Both are to stop while their thread, which is the only one, is busy.
        let blocked = start("/blocked")
        try await Pair.isBlocking.wait()
        for task in tasks {
            task.cancel()
            await #expect(throws: URLError.self) { try await task.value }
        }
        Pair.opened.open()
        try await Pair.stopped.wait { $0.count == 2 }
        blocked.cancel()
        try await Pair.stopped.wait { $0.count == 3 }
    }

    @Test("Ten thousand loads leave no memory behind")
    func memory() async {
        await #expect(processExitsWith: .success) {
            // The network would keep each request.
            final class Unrecorded: MockProtocol, @unchecked Sendable {
                override func startLoading() { answer("fine") }
            }
            let network = MockNetwork { _ in }
            let session = network.session(classes: [Unrecorded.self])
            func load(_ count: Int) async {
                await withTaskGroup(of: String?.self) { group in
                    for number in 0..<count {
                        if number >= 16 { _ = await group.next() }
                        group.addTask { await session.load(network.url()).text }
                    }
                }
            }
            // The address sanitizer's allocator takes longer to find its level.
            await load(ProcessUsage.isSanitized ? 25_000 : 3000)
            let added = await ProcessUsage.added { await load(10_000) }
            // One of Foundation's timers for each call of an object's would be 7 MB.
            #expect(added.resident < ProcessUsage.growth(of: 4 << 20))
            session.invalidateAndCancel()
        }
    }

    @Test("An object is made, started and stopped on one thread, which is not its session's")
    func oneThread() async throws {
        final class Noting: MockProtocol, @unchecked Sendable {
            static let threads = Watched<[ObjectIdentifier]>([])
            static func note() { threads.update { $0.append(ObjectIdentifier(Thread.current)) } }

            required init(
                request: URLRequest,
                cachedResponse: CachedURLResponse?,
                client: (any URLProtocolClient)?
            ) {
                super.init(request: request, cachedResponse: cachedResponse, client: client)
                Self.note()
            }

            override func startLoading() {
                Self.note()
                answer("fine")
            }

            override func stopLoading() { Self.note() }
        }
        let network = MockNetwork { _ in }
        let session = network.session(classes: [Noting.self])
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url()).text == "fine")
        try await Noting.threads.wait { $0.count == 3 }
        #expect(Set(Noting.threads.value).count == 1)
    }

    private class Blocking: MockProtocol, @unchecked Sendable {
        class var gate: Gate { Gate() }

        override func startLoading() {
            if request.url?.path == "/blocked" { Self.gate.waitBlocking() }
            super.startLoading()
        }
    }

    @Test("Loads that block hold up neither others of their class nor those of other classes, and can be cancelled")
    func blocked() async throws {
        final class Blocked: Blocking, @unchecked Sendable {
            static let opened = Gate()
            override class var gate: Gate { opened }
        }
        let network = MockNetwork { $0.answer("fine") }
        let session = network.session(classes: [Blocked.self])
        let other = network.session()
        defer {
            session.invalidateAndCancel()
            other.invalidateAndCancel()
        }
        let tasks = (0..<5).map { _ in Task { await session.load(network.url("/blocked")) } }
        let cancelled = Task { try await session.data(from: network.url("/blocked")) }
        #expect(await other.load(network.url("/blocked")).text == "fine")
        #expect(await session.load(network.url("/free")).text == "fine")
        cancelled.cancel()
        await #expect { try await cancelled.value } throws: { ($0 as? URLError)?.code == .cancelled }
        Blocked.opened.open()
        for task in tasks { #expect(await task.value.text == "fine") }
    }

    @Test("A load that blocks when it is stopped holds up no later load")
    func blockedStop() async throws {
        final class Stopping: MockProtocol, @unchecked Sendable {
            static let gate = Gate()
            static let isStopping = Watched(false)
            override func stopLoading() {
                guard request.url?.path == "/first" else { return }
                Self.isStopping.update { $0 = true }
                Self.gate.waitBlocking()
            }
        }
        let network = MockNetwork { $0.answer("fine") }
        let session = network.session(classes: [Stopping.self])
        defer {
            Stopping.gate.open()
            session.invalidateAndCancel()
        }
        #expect(await session.load(network.url("/first")).text == "fine")
        try await Stopping.isStopping.wait { $0 }
        #expect(await session.load(network.url("/second")).text == "fine")
    }

    @Test("More blocked loads than a class has threads wait, and all of them come to their end")
    func manyBlocked() async throws {
        final class Blocked: Blocking, @unchecked Sendable {
            static let opened = Gate()
            static let begun = Watched(0)
            override class var gate: Gate {
                begun.update { $0 += 1 }
                return opened
            }
        }
        let network = MockNetwork { $0.answer("fine") }
        let session = network.session(classes: [Blocked.self])
        defer { session.invalidateAndCancel() }
        let tasks = (0..<40).map { _ in Task { await session.load(network.url("/blocked")) } }
        try await Blocked.begun.wait { $0 == 16 }
        #expect(Blocked.begun.value == 16)
        Blocked.opened.open()
        for task in tasks { #expect(await task.value.text == "fine") }
        #expect(Blocked.begun.value == 40)
    }

    @Test("Many loads at once share few threads")
    func many() async throws {
        final class Noting: MockProtocol, @unchecked Sendable {
            static let threads = Watched<Set<ObjectIdentifier>>([])
            override func startLoading() {
                Self.threads.update { _ = $0.insert(ObjectIdentifier(Thread.current)) }
                answer("fine")
            }
        }
        let network = MockNetwork { _ in }
        let session = network.session(classes: [Noting.self])
        defer { session.invalidateAndCancel() }
        await withTaskGroup(of: String?.self) { group in
            for _ in 0..<500 { group.addTask { await session.load(network.url()).text } }
            for await text in group { #expect(text == "fine") }
        }
        #expect(Noting.threads.value.count <= 16)
    }
}
