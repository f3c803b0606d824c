import Foundation

/// The system resources that a process holds, according to `/proc`.
package struct ProcessUsage: Sendable {
    /// Numbers and what they are, such as `socket:[4711]`.
    package let descriptors: [Int: String]
    package let threads: Int
    /// In bytes.
    package let resident: Int
    /// The most it ever was, or has been since `resetPeak(of:)`; in bytes.
    package let peak: Int

    package init(of pid: pid_t = getpid()) {
        let directory = "/proc/\(pid)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        descriptors = names.reduce(into: [:]) { result, name in
            guard let number = Int(name),
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\(name)"),
                // Those of another look at the process, such as a concurrent test's at this one.
                !target.hasPrefix(directory), target != "/proc/\(pid)/status",
                // The thread sanitizer has one to the program that symbolises what it has seen, suppressed or not.
                !(Self.isThreadSanitized && target.hasPrefix("pipe:"))
            else { return }
            result[number] = target
        }
        let status = Self.status(of: pid)
        func value(_ name: String) -> Int {
            for line in status.split(separator: "\n") where line.hasPrefix(name + ":") {
                return line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
            }
            return 0
        }
        threads = value("Threads")
        resident = value("VmRSS") * 1024
        peak = value("VmHWM") * 1024
    }

    /// Empty if there is no such process. A program that another test starts meanwhile doesn't inherit the descriptor, as it would one of
    /// Foundation's.
    private static func status(of pid: pid_t) -> String {
        let descriptor = open("/proc/\(pid)/status", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        return String(decoding: (try? file.readToEnd()) ?? Data(), as: UTF8.self)
    }

    /// Makes `peak` count from now on.
    package static func resetPeak(of pid: pid_t = getpid()) throws {
        try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/\(pid)/clear_refs"))
    }

    /// What a process holds when nothing has changed for a while: what is closed or ended on other threads than the caller's is gone by
    /// then.
    package static func atRest(of pid: pid_t = getpid()) async -> ProcessUsage {
        var usage = ProcessUsage(of: pid)
        var polls = 0
        while polls < 20 {
            await pause()
            let next = ProcessUsage(of: pid)
            polls = next.descriptors == usage.descriptors ? polls + 1 : 0
            usage = next
        }
        return usage
    }

    /// Gives the process time to release what it no longer needs: Dispatch keeps idle threads for some seconds. Returns as soon as there
    /// are no more descriptors than in `before`, and at most this many more threads, and after 20 s in any case.
    package static func settled(
        like before: ProcessUsage,
        of pid: pid_t = getpid(),
        moreThreads: Int = 2
    ) async -> ProcessUsage {
        let end = ContinuousClock.now + .seconds(20)
        while true {
            let usage = ProcessUsage(of: pid)
            let isSettled =
                usage.descriptors.count <= before.descriptors.count && usage.threads <= before.threads + moreThreads
            if isSettled || ContinuousClock.now > end { return usage }
            await pause()
        }
    }

    /// What `work` has added to what this process holds, memory in bytes, once it is at rest again.
    package static func added(
        by work: () async throws -> Void
    ) async rethrows -> (descriptors: Int, threads: Int, resident: Int) {
        trim()
        let before = await atRest()
        try await work()
        let after = await settled(like: before)
        trim()
        return (
            after.descriptors.count - before.descriptors.count, after.threads - before.threads,
            ProcessUsage().resident - before.resident
        )
    }

    /// Returns to the system what this process's allocator only keeps for later, so that `resident` is what is in use.
    package static func trim() {
        typealias Trim = @convention(c) (Int) -> Int32
        guard let trim = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(trim, to: Trim.self)(0)
    }

    /// The system doesn't report when a process closes something.
    private static func pause() async {
        try? await Task.sleep(for: .milliseconds(20))
    }

    /// By how much memory may grow when this many bytes are needed: the address sanitizer holds back what is freed, and the thread
    /// sanitizer has several bytes of its own for each.
    package static func growth(of bytes: Int) -> Int {
        if isThreadSanitized { return 16 * bytes }
        return isAddressSanitized ? 4 * bytes : bytes
    }

    /// Whether the process runs under a sanitizer, and several times as slowly.
    package static var isSanitized: Bool { isThreadSanitized || isAddressSanitized }

    package static var isAddressSanitized: Bool { dlsym(nil, "__asan_init") != nil }

    private static var isThreadSanitized: Bool { dlsym(nil, "__tsan_init") != nil }

    /// How many descriptors of each kind there are.
    package var kinds: [String: Int] {
        descriptors.values.reduce(into: [:]) { kinds, target in
            kinds[target.prefix { $0 != ":" || target.hasPrefix("anon") }.description, default: 0] += 1
        }
    }

    package var sockets: Int { descriptors.values.count { $0.hasPrefix("socket:") } }
}
