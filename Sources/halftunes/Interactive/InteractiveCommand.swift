import Dispatch
import Foundation
import Glibc

/// `halftunes` without a command: search, download, pause, resume and cancel with the keyboard.
struct InteractiveCommand {
    private enum Event: Sendable {
        case bytes([UInt8])
        case found(Result<[Track], any Error>, term: String)
        case download(Download)
        case playbackOver(Playback.Ending, number: Int)
        case signal(Int32)
        case redraw
    }

    /// The minimum time between two drawings of the screen.
    private static let frame = DispatchTimeInterval.milliseconds(40)

    private let folder: DownloadFolder
    private let source: MusicSource
    private let limit: Int
    private let centre: DownloadCentre
    private let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation
    private var screen: Screen
    private var keys = KeyParser()
    private var isDrawingDue = false
    private var playing: (playback: Playback, player: Player, number: Int)?
    private var playbacks = 0

    init(_ invocation: Invocation) async throws {
        folder = try DownloadFolder(invocation.directory ?? ".")
        limit = invocation.limit
        let (events, continuation) = AsyncStream<Event>.makeStream()
        self.events = events
        self.continuation = continuation
        centre = DownloadCentre(folder: folder, places: invocation.parallel, transfers: .background) {
            continuation.yield(.download($0))
        }
        let running = await centre.restore()
        let paused = folder.pauseFiles
        for file in paused { centre.add(file) }
        source = try MusicSource(
            api: invocation.api,
            rate: invocation.rate,
            resumable: (running.map(\.item) + paused.map(\.item)).map(\.url)
        )
        screen = Screen(source: source.name, folder: folder.url)
    }

    /// Returns the program's exit code.
    mutating func run() async throws -> Int32 {
        let continuation = continuation
        // Before the terminal is changed: a stop with its default action would leave it raw.
        let signals = Signals(Signals.endings + [SIGWINCH, SIGTSTP, SIGCONT]) { continuation.yield(.signal($0)) }
        try RawTerminal.enter()
        defer { RawTerminal.leave() }
        let keyboard = Self.read { continuation.yield(.bytes($0)) }
        draw()

        var end: End?
        for await event in events {
            end = try handle(event)
            if end != nil { break }
            drawSoon(after: event)
        }

        screen.say("Leaving…")
        draw()
        keyboard.cancel()
        playing?.playback.stop()
        await centre.close()
        RawTerminal.leave()
        folder.tidy()
        source.stop()
        withExtendedLifetime(signals) { printSummary() }
        if case .signal(let number) = end { return ExitCode.signal(number) }
        return ExitCode.success
    }

    private enum End {
        case wish
        case signal(Int32)
    }

    private mutating func handle(_ event: Event) throws -> End? {
        switch event {
        case .bytes(let bytes):
            // An end of file: the terminal is gone.
            guard !bytes.isEmpty else { return .wish }
            for key in keys.keys(in: bytes) {
                if let action = screen.press(key), let end = try perform(action) { return end }
            }
        case .found(let result, let term):
            screen.show(result, of: term)
            centre.showExistingFiles(of: screen.rows.compactMap(\.item))
        case .download(let download): screen.show(download)
        case .playbackOver(let ending, let number):
            // Another song may have replaced it.
            guard let playing, playing.number == number else { return nil }
            self.playing = nil
            screen.stoppedPlaying(ending.problem(with: playing.player))
        case .signal(SIGTSTP): try RawTerminal.suspendProcess()
        case .signal(SIGCONT): try RawTerminal.enter()
        case .signal(SIGWINCH): break
        case .signal(let number): return .signal(number)
        case .redraw: draw()
        }
        return nil
    }

    private mutating func perform(_ action: Screen.Action) throws -> End? {
        switch action {
        case .search(let term):
            source.search.search(term, limit: limit) { [continuation] in continuation.yield(.found($0, term: term)) }
        case .download(let item): centre.start(item)
        case .play(let item): play(item)
        case .stopPlaying: playing?.playback.stop()
        case .pause(let id): centre.pause(id)
        case .resume(let id): centre.resume(id)
        case .cancel(let id): centre.cancel(id)
        case .suspend: try RawTerminal.suspendProcess()
        case .quit: return .wish
        }
        return nil
    }

    /// Replaces the song being played.
    private mutating func play(_ item: DownloadItem) {
        playing?.playback.stop()
        playing = nil
        playbacks += 1
        do {
            let player = try Player()
            let over: @Sendable (Playback.Ending) -> Void = { [continuation, number = playbacks] in
                continuation.yield(.playbackOver($0, number: number))
            }
            let file = folder.destination(of: item)
            let playback = try Playback(file, with: player, isQuiet: true, whenOver: over)
            playing = (playback, player, playbacks)
            screen.startedPlaying(item, with: player.name)
        } catch PlayerError.noFile {
            centre.forget(item.url)
            screen.stoppedPlaying(nil)
            screen.forget(item.url)
        } catch {
            screen.stoppedPlaying("It can't be played: \(error.localizedDescription).")
        }
    }

    // MARK: - The terminal

    private mutating func draw() {
        let size = Console.size
        let view = ScreenView(columns: size.columns, rows: size.rows)
        screen.pageSize = view.listRows
        RawTerminal.draw(view.lines(screen))
    }

    /// Draws once, however much happens at the same time.
    private mutating func drawSoon(after event: Event) {
        if case .redraw = event {
            isDrawingDue = false
        } else if !isDrawingDue {
            isDrawingDue = true
            DispatchQueue.global().asyncAfter(deadline: .now() + Self.frame) { [continuation] in
                continuation.yield(.redraw)
            }
        }
    }

    private static func read(_ deliver: @escaping @Sendable ([UInt8]) -> Void) -> any DispatchSourceRead {
        let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .global())
        source.setEventHandler {
            var buffer = [UInt8](repeating: 0, count: 1024)
            let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0, errno == EINTR || errno == EAGAIN { return }
            deliver(Array(buffer.prefix(max(0, count))))
        }
        source.resume()
        return source
    }

    private func printSummary() {
        let running = screen.downloads.values.count(where: \.isBusy)
        if running > 0 {
            let subject = running == 1 ? "1 download continues" : "\(running) downloads continue"
            Console.print("\(subject) in the background.")
            Console.print("Start halftunes for \(folder.url.path) again to see progress.".printable)
            Console.print("To cancel: \(folder.stopCommand)".printable)
        }
        let count = folder.pauseFiles.count
        guard count > 0 else { return }
        Console.print("\(count == 1 ? "1 download is" : "\(count) downloads are") paused in \(folder.url.path).")
        Console.print("To resume, start halftunes there again and press r.")
    }
}
