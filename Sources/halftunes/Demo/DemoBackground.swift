import CurlNetworking
import Foundation

/// The demo's background downloads: their program is killed, they are finished without it, and another program collects them.
struct DemoBackground {
    static let downloads = 2
    /// As a fraction of each file.
    private static let killAt = 0.2

    private enum Event: Sendable {
        case child(ChildProcess.Event)
        case agentEnded
    }

    private enum Phase {
        /// The program downloads.
        case downloading(ChildProcess)
        /// It has been killed, and its agent continues.
        case alone
        /// Another program collects the results.
        case delivering(ChildProcess)
        case over
    }

    private let items: [DownloadItem]
    private let command: [String]
    private let state: BackgroundState
    private let server: CatalogueServer
    private let screen: DemoScreen
    private let timeLimit: Duration
    private var phase = Phase.over
    private var kill = DemoStory.Kill(process: 0)

    /// - Parameters:
    ///   - items: The items that `command` downloads.
    ///   - command: The arguments of both programs.
    init(
        _ items: [DownloadItem],
        command: [String],
        state: BackgroundState,
        server: CatalogueServer,
        screen: DemoScreen,
        timeLimit: Duration
    ) {
        self.items = items
        self.command = command
        self.state = state
        self.server = server
        self.screen = screen
        self.timeLimit = timeLimit
    }

    mutating func run(_ story: inout DemoStory) async {
        let act = DemoAct<Event>(timeLimit: timeLimit)
        defer { act.end() }
        guard let child = start(act.report) else { return }
        phase = .downloading(child)
        for await element in act {
            switch element {
            case .event(let event): note(event, act.report)
            case .interruption(let claim): story.interruption = claim
            }
            if isOver || story.interruption != nil { break }
        }
        switch phase {
        case .downloading(let child), .delivering(let child): child.kill()
        case .alone, .over: break
        }
        story.kill = kill
    }

    private var isOver: Bool {
        if case .over = phase { true } else { false }
    }

    /// Checks the actual state on disk.
    func record(_ story: inout DemoStory, _ folder: DownloadFolder) {
        story.chapters += items.map { item in
            var chapter = DemoStory.Chapter(item: item, role: .survived)
            chapter.bytes = folder.length(of: item)
            chapter.digest = try? SHA256.digest(ofFile: folder.destination(of: item))
            return chapter
        }
    }

    private func start(_ report: @escaping @Sendable (Event) -> Void) -> ChildProcess? {
        let child = ChildProcess { report(.child($0)) }
        do {
            try child.start(command, environment: state.environment)
            return child
        } catch {
            Console.printError("The other process can't be started: \(error.localizedDescription)")
            return nil
        }
    }

    // MARK: - Events

    private mutating func note(_ event: Event, _ report: @escaping @Sendable (Event) -> Void) {
        switch (event, phase) {
        case (.child(.line(let line)), .downloading(let child)):
            noteProgress(line, of: child)
        case (.child(.ended(let status)), .downloading):
            kill.wasKilled = status == nil
            screen.say("process \(kill.process) was killed; its downloads continue")
            phase = .alone
            Task { [state] in
                await state.waitForAgentToEnd()
                report(.agentEnded)
            }
        case (.agentEnded, .alone):
            kill.isAgentGone = true
            noteServer()
            screen.say("they are complete, and no Half Tunes process is running")
            phase = start(report).map(Phase.delivering) ?? .over
        case (.child(.line(let line)), .delivering(let child)):
            noteDelivery(line, of: child)
        case (.child(.ended(let status)), .delivering):
            kill.nextStatus = status
            kill.requestsAtEnd = previewRequests.count
            phase = .over
        case (.child, .alone), (.child, .over), (.agentEnded, _):
            break
        }
    }

    /// Kills the program when all of its downloads are well under way.
    private mutating func noteProgress(_ line: String, of child: ChildProcess) {
        guard kill.positions.count < items.count else { return }
        kill.process = child.identifier
        for item in items {
            guard case .progress(let bytes, let total?)? = PlainLine(line, about: item.fileName.printable),
                Double(bytes) >= Self.killAt * Double(total), kill.positions[item.fileName] == nil
            else { continue }
            kill.positions[item.fileName] = bytes
            screen.say(line, process: child.identifier)
        }
        if kill.positions.count == items.count { child.kill() }
    }

    private mutating func noteDelivery(_ line: String, of child: ChildProcess) {
        screen.say(line, process: child.identifier)
        let done = items.first { PlainLine(line, about: $0.fileName.printable)?.isDone == true }
        if let done { kill.delivered.insert(done.fileName) }
    }

    private var previewRequests: [(path: String, number: Int)] {
        let paths = Set(items.map(\.url.path))
        return server.loopback.requests.filter { paths.contains($0.path) }.map { ($0.path, $0.ordinal) }
    }

    private mutating func noteServer() {
        let requests = previewRequests
        kill.requests = requests.count
        for item in items {
            kill.sent[item.fileName] = requests.filter { $0.path == item.url.path }
                .reduce(0) { $0 + server.loopback.bytesSent(inAnswerTo: $1.number) }
        }
    }
}

extension PlainLine {
    fileprivate var isDone: Bool {
        if case .done = self { true } else { false }
    }
}
