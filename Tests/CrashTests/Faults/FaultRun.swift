import CurlNetworking
import Foundation
import Glibc
import TestSupport

/// What came of a run with a fault.
struct FaultRun: Sendable {
    /// What mustn't be.
    private(set) var findings: [String] = []
    /// The steps that ended with an error, and it.
    private(set) var errors: [String] = []
    private(set) var steps: Set<String> = []
    private var successes: Set<String> = []
    private let fault: Fault?

    /// - Parameter fault: nil for a run without one.
    init(_ fault: Fault?) {
        self.fault = fault
    }

    /// What the process held after the last step.
    var atEnd = ProcessUsage()
    /// Whether there was an nth call, which failed.
    private(set) var wasReached = false
    /// Which call failed, with its callers.
    private(set) var report = ""

    mutating func expect(_ condition: Bool, _ finding: String) {
        if !condition { findings.append(finding) }
    }

    /// A line of the helper's.
    mutating func note(_ line: String) {
        let words = line.split(separator: " ", maxSplits: 4).map(String.init)
        let step = words.first ?? ""
        expect(steps.insert(step).inserted, "twice: \(line)")
        switch words.dropFirst().first {
        case "success": successes.insert(step)
        // A clear one has a code and words.
        case "error" where words.count == 5:
            errors.append(line)
            let isTimeout = words[2] == NSURLErrorDomain && words[3] == "\(URLError.timedOut.rawValue)"
            // A background task is tried again and again until then, and says why that failed. So is a resumable upload, some times.
            let isTriedAgain = fault?.isForGood == true && ["interrupted-upload", "paused-upload"].contains(step)
            let isExplained =
                fault?.mayTimeOut == true || isTriedAgain || words[4].contains("Its last attempt failed: ")
            expect(!isTimeout || isExplained, "a time-out: \(line)")
            expect(fault?.mayFail == true, "a failure: \(line)")
        default: expect(false, line)
        }
    }

    /// Waits for the end of the agent, which has nothing more to do. Without descriptors for good, it may go on trying to remove its records.
    mutating func endAgent(_ folder: URL) async {
        let lock = folder.appendingPathComponent("state/agent.lock").path
        guard access(lock, F_OK) == 0 else { return }
        let waiter = try? ChildProcess(["flock", "--wait", "20", lock, "true"])
        let ending = await waiter?.ending()
        expect(ending == .exit(0) || agentLacksDescriptors, "the agent goes on")
        guard ending != .exit(0), let text = try? String(contentsOfFile: lock, encoding: .utf8) else { return }
        if let pid = pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)), pid > 1 { kill(pid, SIGKILL) }
    }

    private var agentLacksDescriptors: Bool { fault?.program == .agent && fault?.lacksDescriptorsForGood == true }

    /// Whether each file is what it is said to be, and none is left over.
    mutating func checkFiles(_ folder: URL, port: Int, _ number: Int) {
        read(folder, number)
        checkOutput(folder)
        checkTemporaryFiles(folder)
        checkState(folder)
        checkCookies(folder)
        checkCache(folder, port: port)
    }

    /// What is in the folder of this name, at any depth.
    private static func content(_ name: String, of folder: URL) -> Set<String> {
        let names = FileManager.default.enumerator(atPath: folder.appendingPathComponent(name).path)
        return Set(names?.allObjects as? [String] ?? [])
    }

    private mutating func checkOutput(_ folder: URL) {
        let files = Self.content("output", of: folder)
        for name in files {
            let data = try? Data(contentsOf: folder.appendingPathComponent("output/\(name)"))
            expect(data == FaultServer.body(name), "the file \(name) is wrong")
        }
        for name in ["download", "resume", "background-download"] where successes.contains(name) {
            expect(files.contains(name), "the file \(name) is missing")
        }
    }

    /// What an error's resume data goes on with stays, and so does that where it couldn't be opened or read: whose it is can't be known
    /// then.
    private mutating func checkTemporaryFiles(_ folder: URL) {
        // The report names the first call that failed; without descriptors for good, opening fails as well from then on.
        let isUnreadable = report.hasPrefix("failed open") || report.hasPrefix("failed read\n")
        let isUnknown = isUnreadable || fault?.lacksDescriptorsForGood == true
        var kept: [String] = []
        let resumable = errors.filter { $0.contains(" (resumable) ") }
        let isDownload = { (line: String) in
            ["resume ", "download ", "background-download "].contains { line.hasPrefix($0) }
        }
        if isUnknown || resumable.contains(where: isDownload) {
            kept.append("CurlNetworkingDownload_")
        }
        let isUpload = { (line: String) in line.hasPrefix("paused-upload ") || line.hasPrefix("interrupted-upload ") }
        if isUnknown || resumable.contains(where: isUpload) {
            kept += ["CurlNetworkingBody_", "CurlNetworkingUpload_"]
        }
        let others = Self.content("temporary", of: folder).filter { name in !kept.contains { name.hasPrefix($0) } }
        expect(others.isEmpty, "left over: \(others.sorted())")
    }

    private mutating func checkState(_ folder: URL) {
        let state = Self.content("state/sessions", of: folder)
        let hasFailedThere = errors.contains { $0.hasPrefix("background-") }
        expect(state.isEmpty || hasFailedThere || agentLacksDescriptors, "left over: \(state.sorted())")
    }

    private mutating func checkCookies(_ folder: URL) {
        // The stock storage doesn't say that it couldn't write its file. Where the system takes less of it than was to be written,
        // Foundation 6.3 begins again with the first byte (`Data.write(to:)`), so the file is wrong then; nothing in `Sources` writes files
        // with that.
        let isDamaged = fault?.kind == "short-writes" && report.contains("HTTPCookieStorage")
        for name in Self.content("home", of: folder) where name.hasSuffix(".cookies.faults") && !isDamaged {
            let data = (try? Data(contentsOf: folder.appendingPathComponent("home/\(name)"))) ?? Data()
            let list = try? PropertyListSerialization.propertyList(from: data, format: nil)
            expect((list as? [String: Any])?.isEmpty == false, "the file of cookies is no list of cookies")
        }
    }

    private mutating func checkCache(_ folder: URL, port: Int) {
        let cache = CurlURLCache(
            memoryCapacity: 0,
            diskCapacity: 1 << 24,
            diskPath: folder.appendingPathComponent("cache").path
        )
        for name in ["data", "cache", "download"] {
            let data = cache.cachedResponse(for: URLRequest(url: FaultServer.url(name, port: port)))?.data
            expect(data == nil || data == FaultServer.body(name), "the cache has another \(name)")
        }
    }

    /// What `faults.c` has written.
    private mutating func read(_ folder: URL, _ number: Int) {
        report = (try? String(contentsOf: folder.appendingPathComponent("report"), encoding: .utf8)) ?? ""
        let bytes = (try? Data(contentsOf: folder.appendingPathComponent("counter"))) ?? Data()
        wasReached = bytes.reversed().reduce(0) { $0 << 8 | Int($1) } >= number
        let signals = report.split(separator: "\n").filter { $0.hasPrefix("signal ") }
        expect(signals.isEmpty, "a process was ended by \(signals.joined(separator: ", "))")
    }
}
