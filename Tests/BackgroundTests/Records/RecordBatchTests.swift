import CurlTransport
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Records of tasks that came together")
struct RecordBatchTests {
    private let directory: TemporaryDirectory
    private let folder: SessionFolder

    init() throws {
        directory = try TemporaryDirectory()
        folder = SessionFolder(url: directory.url, log: .none)
    }

    private static func record(_ identifier: Int) throws -> TaskRecord {
        let url = try #require(URL(string: "http://localhost/\(identifier)"))
        return TaskRecord(try .download(URLRequest(url: url), identifier: identifier))
    }

    /// Three tasks in one file.
    private func stored() throws -> [StoredTask] {
        let records = try (1...3).map(Self.record)
        let batch = try folder.add(records)
        #expect(names.count == 1)
        return records.map { StoredTask($0, in: folder, batch: batch) }
    }

    private var names: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.url.path)) ?? []
        return names.filter { $0.contains(".task") }.sorted()
    }

    private var identifiers: [Int] { ((try? folder.readTasks()) ?? []).map(\.record.submission.identifier) }

    /// The file's content, changed by `change`.
    private func rewrite(_ change: (String) -> String) throws {
        let file = directory.url.appendingPathComponent(try #require(names.first))
        let handle = try FileHandle(forUpdating: file)
        let content = String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: Data(change(content).utf8))
        try handle.close()
    }

    private var asideNames: [String] {
        let folder = directory.url.appendingPathComponent("set-aside").path
        return (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    @Test("Records that were written together are read in order, and a single task's has a file of its own")
    func written() throws {
        _ = try stored()
        #expect(names[0].hasPrefix("3-") && names[0].hasSuffix(".tasks"))
        #expect(RecordName(batch: names[0])?.identifier == 3)
        #expect(identifiers == [1, 2, 3])
        #expect(try folder.add([try Self.record(4)]) == nil)
        #expect(names.count == 2 && names[1].hasPrefix("4-") && names[1].hasSuffix(".task"))
        #expect(identifiers == [1, 2, 3, 4])
    }

    @Test("The metrics of earlier attempts are read back, and left out of a record that is too long with them")
    func metrics() throws {
        var task = try stored()[0]
        // Leaves room for 100,000 bytes.
        let body = Data(count: (FrameReader.maximumLength - 100_000) / 4 * 3)
        task.record.submission.request.body = body
        func attempt(fieldLength: Int) throws -> MetricsDescription {
            var request = task.record.submission.request.request
            request.setValue(String(repeating: "a", count: fieldLength), forHTTPHeaderField: "X-Long")
            let interval = DateInterval(start: Date(), duration: 1)
            return MetricsDescription(
                TaskMetrics(hops: [HopMetrics(request)], interval: interval, redirectCount: 0)
            )
        }
        for _ in 0..<2 { task.record.add(try attempt(fieldLength: 10)) }
        try task.save()
        let read = try #require(try folder.readTasks().first { $0.key == task.key })
        #expect(read.record.metrics?.hops.count == 2)
        task.record.add(try attempt(fieldLength: 100_000))
        task.record.elapsed = 7
        try task.save()
        let abridged = try #require(try folder.readTasks().first { $0.key == task.key })
        #expect(abridged.record.metrics == nil && abridged.record.elapsed == 7)
        #expect(abridged.record.submission.request.body == body)
    }

    @Test("A record that was removed doesn't come back, and the file is removed with the last one")
    func removed() throws {
        let tasks = try stored()
        let length = try Data(contentsOf: directory.url.appendingPathComponent(names[0])).count
        try tasks[1].remove()
        #expect(identifiers == [1, 3])
        let content = try Data(contentsOf: directory.url.appendingPathComponent(names[0]))
        #expect(content.count == length)
        // Nothing of its request is left there, which may have had credentials.
        let text = String(decoding: content, as: UTF8.self)
        #expect(text.contains(#"localhost\/1"#) && text.contains(#"localhost\/3"#) && !text.contains(#"localhost\/2"#))
        try tasks[0].remove()
        #expect(identifiers == [3])
        // By another agent.
        let last = try #require(try folder.readTasks().first)
        try last.remove()
        #expect(names == [])
    }

    @Test("Records that can't be removed are still there, and can be removed later", arguments: [1, 3])
    func removedLater(count: Int) throws {
        let records = try (1...count).map(Self.record)
        let batch = try folder.add(records)
        let tasks = records.map { StoredTask($0, in: folder, batch: batch) }
        let failures = try withLoop(at: directory.url.path) {
            tasks.count { task in
                do throws(SystemError) { try task.remove() } catch { return error.code == ELOOP }
                return false
            }
        }
        #expect(failures == count)
        #expect(identifiers == Array(1...count))
        for task in tasks { try task.remove() }
        #expect(names == [])
    }

    @Test("A record that is void because it couldn't be removed is no task's, and is removed when records are read")
    func void() throws {
        try folder.add(try Self.record(1))
        let file = directory.url.appendingPathComponent(names[0])
        let length = try Data(contentsOf: file).count
        try RecordFile.makeVoid(in: file.path)
        #expect(try Data(contentsOf: file) == Data(repeating: UInt8(ascii: "-"), count: length))
        #expect(identifiers == [])
        #expect(names == [] && asideNames == [])
    }

    @Test("A shared record that can't be made void doesn't come back once the task's own one is removed")
    func stays() throws {
        var tasks = try stored()
        tasks[0].record.elapsed = 5
        try withLoop(at: directory.url.appendingPathComponent(names[0]).path) { try tasks[0].save() }
        #expect(names.count == 2)
        try tasks[0].remove()
        #expect(identifiers == [2, 3])
    }

    @Test("A shared file is removed with the last record that anybody needs, even if none could be made void")
    func needless() throws {
        let tasks = try stored()
        let shared = directory.url.appendingPathComponent(names[0]).path
        try #require(unlink(shared) == 0)
        try #require(symlink(shared, shared) == 0)
        for task in tasks.dropLast() { #expect(throws: SystemError.self) { try task.remove() } }
        try tasks[2].remove()
        #expect(names == [])
        for task in tasks { try task.remove() }
    }

    @Test("A record that changes gets a file of its own, which counts")
    func changed() throws {
        var tasks = try stored()
        tasks[0].record.elapsed = 5
        try tasks[0].save()
        #expect(names.count == 2)
        #expect(try folder.readTasks().map(\.record.elapsed) == [5, 0, 0])
        tasks[0].record.elapsed = 6
        try tasks[0].save()
        #expect(try folder.readTasks().map(\.record.elapsed) == [6, 0, 0])
        for task in tasks { try task.remove() }
        #expect(names == [])
    }

    @Test("The record of a task that has ended is written without its body where that makes it too long")
    func tooLong() throws {
        var record = try Self.record(1)
        record.submission.request.body = Data(count: 25 << 20)
        var task = StoredTask(record, in: folder, batch: nil)
        #expect(throws: URLError.self) { try task.save() }
        #expect(names == [])
        task.record.ending = TaskEnding(progress: TaskProgress(key: task.key))
        try task.save()
        let read = try #require(try folder.readTasks().first?.record)
        #expect(read.ending != nil && read.submission.request.body == nil)
    }

    @Test("A partial file is there as long as the record on disk names it, or the task as its complete one")
    func partialFile() throws {
        try folder.prepare()
        let download = try DownloadFile(in: folder.files)
        let partial = try #require(download.keep())
        let record = try Self.record(1)
        var task = StoredTask(record, in: folder, batch: nil)
        task.record.resumeData = try ResumeData.encoded(record.submission.request.request, in: partial)
        try task.save()
        #expect(task.files == [partial.name])

        var ended = task
        ended.replaceResumeData(with: nil)
        ended.record.ending = TaskEnding(file: partial.name, progress: TaskProgress(key: task.key))
        try ended.save()
        #expect(folder.length(ofFile: partial.name) == 0)

        task.replaceResumeData(with: nil)
        #expect(folder.length(ofFile: partial.name) == 0)
        try task.save()
        #expect(folder.length(ofFile: partial.name) == nil)
    }

    @Test("A file to which a download is being written stays, whatever becomes of the record that names it")
    func growingFile() throws {
        try folder.prepare()
        let download = try DownloadFile(in: folder.files)
        let partial = try #require(download.describe())
        let record = try Self.record(1)
        var task = StoredTask(record, in: folder, batch: nil)
        task.record.resumeData = try ResumeData.encoded(record.submission.request.request, in: partial)
        task.replaceResumeData(with: nil)
        try task.save()
        #expect(folder.length(ofFile: partial.name) == 0)
        download.remove()
        #expect(folder.length(ofFile: partial.name) == nil)
    }

    @Test("If an agent was killed before the shared record was void, the record in the task's own file counts")
    func twice() throws {
        var tasks = try stored()
        tasks[0].record.elapsed = 5
        try folder.add(tasks[0].record)
        #expect(try folder.readTasks().map(\.record.elapsed) == [5, 0, 0])
        // The other one is void from then on.
        tasks[0] = try #require(try folder.readTasks().first)
        try tasks[0].remove()
        #expect(identifiers == [2, 3])
    }

    @Test("A line that is wrong is set aside, and costs no other task anything")
    func damaged() throws {
        _ = try stored()
        try rewrite { content in
            var lines = content.split(separator: "\n").map(String.init)
            lines[1] = lines[1].replacing("\"version\":1", with: "\"version\":2")
            return lines.joined(separator: "\n") + "\n" + lines[0] + "\n[[[[[[\n\n-void\n"
        }
        #expect(identifiers == [1, 3])
        #expect(asideNames.count == 2)
        #expect(identifiers == [1, 3])
        #expect(asideNames.count == 2)
    }

    @Test("The whole records of a torn file count", arguments: [1, 2, 3])
    func torn(whole: Int) throws {
        _ = try stored()
        try rewrite { content in
            let lines = content.split(separator: "\n")
            return lines[..<(whole - 1)].map { $0 + "\n" }.joined() + lines[whole - 1].dropLast(10)
        }
        #expect(identifiers == Array(1..<whole))
        #expect(names.count == (whole > 1 ? 1 : 0))
        #expect(asideNames.count == 1)
    }

    @Test("A file that others may read is set aside as a whole")
    func foreign() throws {
        _ = try stored()
        chmod(directory.url.appendingPathComponent(names[0]).path, 0o644)
        #expect(identifiers == [])
        #expect(names == [] && asideNames.count == 1)
    }
}
