import CurlNetworking
import Foundation

/// Uploads one file until it has arrived or failed, or a signal asks to stop; then the upload is paused.
struct UploadRun {
    private enum Event: Sendable {
        case upload(RecordingUpload.Event)
        case signal(Int32)
    }

    private let file: URL
    private let api: URL
    /// In bytes.
    private let length: Int64
    private var notes: UploadNotes
    private var sent: Int64 = 0

    /// - Throws: If there is no such file.
    init(_ file: URL, to api: URL) throws {
        self.file = file
        self.api = api
        guard FileManager.default.fileExists(atPath: file.path) else { throw UploadError.noFile(file.path) }
        // A link stands for its file.
        let values = try file.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey, .fileSizeKey])
        guard values.isRegularFile == true else { throw UsageError("'\(file.path)' isn't a file.") }
        length = Int64(values.fileSize ?? 0)
        notes = UploadNotes(file.lastPathComponent, length: length)
    }

    /// Returns the program's exit code.
    mutating func run() async -> Int32 {
        let folder = pauseFolder()
        let (events, continuation) = AsyncStream<Event>.makeStream()
        let upload = RecordingUpload(file, to: api, resuming: folder?.resumeData, from: folder?.url) {
            continuation.yield(.upload($0))
        }
        let signals = Signals(Signals.endings) { continuation.yield(.signal($0)) }
        defer { withExtendedLifetime(signals) {} }
        notes.write(.started)
        for await event in events {
            switch event {
            case .upload(.offered):
                if folder != nil { notes.write("can be resumed") }
            case .upload(.resumed(let offset)):
                sent = offset
                notes.write(.resumed(at: offset, of: length))
            case .upload(.sent(let count)):
                sent = count
                notes.write(.progress(count, of: length))
            case .upload(.ended(let result)):
                return end(result, folder)
            case .signal(let number):
                return pause(await upload.pause(), folder) ? ExitCode.signal(number) : ExitCode.failure
            }
        }
        return ExitCode.failure
    }

    /// nil if there can't be one: the upload then can't be paused.
    private mutating func pauseFolder() -> UploadPauseFolder? {
        do {
            return try UploadPauseFolder(beside: file, for: api)
        } catch {
            notes.write("can't be paused: \(error.localizedDescription)")
            return nil
        }
    }

    private mutating func end(_ result: Result<Recordings.Receipt, any Error>, _ folder: UploadPauseFolder?) -> Int32 {
        do {
            let receipt = try result.get()
            guard receipt.sha256 == (try SHA256.digest(ofFile: file)) else { throw UploadError.notTheSame }
            folder?.remove()
            notes.write(.done("\(receipt.length) bytes, SHA-256 ok"))
            Console.print("It is at \(receipt.recordingUrl.printable)")
            return ExitCode.success
        } catch {
            notes.write(.failed(error.localizedDescription))
            if let folder, let resumeData = (error as? URLError)?.uploadTaskResumeData {
                _ = keep(resumeData, folder)
            } else if case .status = error as? UploadError {
                // The session knows which responses leave something to resume, and has then kept its files.
                folder?.tidy()
            } else {
                folder?.remove()
            }
            return ExitCode.failure
        }
    }

    private mutating func pause(_ resumeData: Data?, _ folder: UploadPauseFolder?) -> Bool {
        guard let folder, let resumeData else {
            notes.write(.cancelled)
            folder?.tidy()
            return true
        }
        notes.write(.paused(at: sent, of: length))
        return keep(resumeData, folder)
    }

    private func keep(_ resumeData: Data, _ folder: UploadPauseFolder) -> Bool {
        do {
            try folder.write(resumeData)
            Console.print("The same command resumes from there.")
            return true
        } catch {
            Console.printError(error.localizedDescription)
            return false
        }
    }
}

/// Shows how an upload is progressing: one line with a bar on a terminal, lines elsewhere.
private struct UploadNotes {
    private let name: String
    /// In bytes.
    private let length: Int64
    private let isTerminal = Console.isTerminal
    private var live = LiveLines()
    private var news = PlainNews()

    init(_ name: String, length: Int64) {
        (self.name, self.length) = (name, length)
    }

    /// Something other than progress.
    mutating func write(_ text: String) {
        show(text, fraction: nil)
    }

    mutating func write(_ line: PlainLine) {
        guard isTerminal || news.isWorthReporting(line, expected: length) else { return }
        guard case .progress(let bytes, _) = line else { return show(line.text, fraction: nil) }
        show(line.text, fraction: Double(bytes) / Double(max(1, length)))
    }

    private mutating func show(_ text: String, fraction: Double?) {
        guard isTerminal else { return Console.print("\(name): \(text)".printable) }
        let line = ProgressLine(columns: Console.size.columns).text(title: name, fraction: fraction, status: text)
        live.draw([line], isUrgent: fraction == nil)
    }
}
