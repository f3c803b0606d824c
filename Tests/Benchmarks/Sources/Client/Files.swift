import Foundation

/// One large body to a file. Removing the file again is not measured.
struct Download: Scenario {
    private let arguments: Arguments
    private let receiver = DownloadReceiver()
    private let session: URLSession

    init(_ arguments: Arguments) {
        self.arguments = arguments
        session =
            arguments.style == .delegate
            ? makeSession(connectionsPerHost: 1, delegate: receiver, delegateQueue: receiver.queue)
            : makeSession(connectionsPerHost: 1)
    }

    func warmUp() async throws -> Tally {
        try await warmLibrariesUp(arguments)
    }

    func slice(_ tally: inout Tally) async -> Report {
        let meter = Meter()
        let outcome = await download()
        let reading = meter.stop()
        do {
            tally.note(file: try outcome.get())
        } catch {
            tally.note("\(error)")
        }
        tally.removeFiles(expect: arguments.expect)
        return reading.report(tally)
    }

    private func download() async -> Result<URL, any Error> {
        guard arguments.style == .delegate else {
            do {
                return .success(try await session.download(from: arguments.url).0)
            } catch {
                return .failure(error)
            }
        }
        return await withCheckedContinuation { continuation in
            receiver.queue.addOperation { [receiver, session, arguments] in
                receiver.ended = { continuation.resume(returning: $1) }
                session.downloadTask(with: arguments.url).resume()
            }
        }
    }
}

/// Small bodies, each to a file of its own, always the same number in flight. Removing the files again is not measured.
struct Files: Scenario {
    private let arguments: Arguments
    private let session: URLSession

    init(_ arguments: Arguments) {
        self.arguments = arguments
        session = makeSession(connectionsPerHost: arguments.inFlight)
    }

    func warmUp() async throws -> Tally {
        var tally = await download(2 * arguments.inFlight)
        tally.removeFiles(expect: arguments.expect)
        return tally
    }

    func slice(_ tally: inout Tally) async -> Report {
        let meter = Meter()
        let results = await download(arguments.requests)
        let reading = meter.stop()
        tally.add(results)
        tally.removeFiles(expect: arguments.expect)
        return reading.report(tally)
    }

    private func download(_ count: Int) async -> Tally {
        await inLanes(count, lanes: arguments.inFlight) { [session, arguments] tally in
            do {
                tally.note(file: try await session.download(from: arguments.url).0)
            } catch {
                tally.note("\(error)")
            }
        }
    }
}

/// One large body from a file.
struct Upload: Scenario {
    private let arguments: Arguments
    private let session = makeSession(connectionsPerHost: 1)

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func warmUp() async throws -> Tally {
        try await warmLibrariesUp(arguments)
    }

    func slice(_ tally: inout Tally) async -> Report {
        var request = URLRequest(url: arguments.url)
        request.httpMethod = "PUT"
        let meter = Meter()
        do {
            let (data, response) = try await session.upload(for: request, fromFile: arguments.file)
            tally.note(complaint(about: response, bytes: data.count, expect: arguments.expect))
        } catch {
            tally.note("\(error)")
        }
        return meter.stop().report(tally)
    }
}

/// Has the libraries and the code paths of a small transfer in memory before a large one is measured.
func warmLibrariesUp(_ arguments: Arguments) async throws -> Tally {
    var tally = Tally()
    if let url = arguments.warmup {
        let (data, response) = try await makeSession(connectionsPerHost: 1).data(from: url)
        tally.note(complaint(about: response, bytes: data.count, expect: nil))
    }
    return tally
}
