import Foundation

/// `halftunes resume`: resumes the download in one `.resume` file, whichever process wrote it.
struct ResumeCommand {
    let invocation: Invocation

    init(_ invocation: Invocation) {
        self.invocation = invocation
    }

    func run() async throws -> Int32 {
        let url = URL(fileURLWithPath: invocation.operands.first ?? "")
        let pauseFile = try PauseFile(contentsOf: url)
        let folder = try DownloadFolder(url.deletingLastPathComponent().path)
        let stands = CatalogueServer.standIns(for: [pauseFile.item.url])
        defer { for stand in stands { stand.stop() } }
        let reporter: any DownloadReporter = Console.isTerminal ? TerminalReporter() : PlainReporter(step: 0.02)
        var run = DownloadRun([pauseFile.item], folder: folder, places: 1, reporter: reporter)
        return await run.run()
    }
}
