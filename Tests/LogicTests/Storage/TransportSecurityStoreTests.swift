import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("What a session knows of hosts that want https", .timeLimit(.minutes(1)))
struct TransportSecurityStoreTests {
    private let directory: TemporaryDirectory
    private var file: URL { directory.url.appendingPathComponent("hsts") }
    private let field = TransportSecurityField(maximumAge: 600, includesSubdomains: false)

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func store(_ option: CurlOptions.StrictTransportSecurity? = nil) throws -> TransportSecurityStore {
        try #require(TransportSecurityStore.store(for: option ?? .file(file)))
    }

    private func isSecured(_ host: String, by store: TransportSecurityStore) throws -> Bool {
        try store.secured(Sample.url("http://\(host)/")) != nil
    }

    /// Returns when the file has this.
    private func wait(forLine text: String) async throws {
        try await eventually { (try? String(contentsOf: file, encoding: .utf8))?.contains(text) == true }
    }

    /// Returns when everything noted so far has been written, or couldn't be.
    private func finishWrites(of store: TransportSecurityStore) async {
        await withCheckedContinuation { continuation in store.finishWrites { continuation.resume() } }
    }

    /// Such as `S_IFREG`; nil if there is no file.
    private var fileType: mode_t? {
        var status = stat()
        return lstat(file.path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    @Test("Files are other ones though their names are equal to Swift")
    func equivalentNames() throws {
        let stores = try ["\u{E9}", "e\u{301}"].map { try store(.file(directory.url.appendingPathComponent($0))) }
        #expect(stores[0] !== stores[1])
    }

    @Test("There is no store if it is off, and each session has its own in memory")
    func memory() throws {
        #expect(TransportSecurityStore.store(for: .off) == nil)
        let (first, second) = (try store(.inMemory), try store(.inMemory))
        first.note(field, from: "example.com")
        #expect(try isSecured("example.com", by: first))
        #expect(try !isSecured("example.com", by: second))
        #expect(try first.secured(Sample.url("https://example.com/")) == nil)
        #expect(try first.secured(Sample.url("ftp://example.com/")) == nil)
    }

    @Test("A store without hosts changes nothing, until it learns of one and after it has forgotten it")
    func emptiness() throws {
        let store = try store(.inMemory)
        #expect(store.changesNothing)
        #expect(try store.secured(Sample.url("http://example.com/")) == nil)
        store.note(field, from: "example.com")
        #expect(!store.changesNothing)
        #expect(try isSecured("example.com", by: store))
        #expect(try !isSecured("example.org", by: store))
        store.note(TransportSecurityField(maximumAge: 0, includesSubdomains: false), from: "example.com")
        #expect(store.changesNothing)
        #expect(try !isSecured("example.com", by: store))
    }

    @Test("A file's hosts count from the start, and so does a file that can't be read")
    func emptinessOfFile() throws {
        #expect(try store(.file(directory.url.appendingPathComponent("nothing"))).changesNothing)
        try Data("known.example \"unlimited\"\n".utf8).write(to: file)
        #expect(try !store().changesNothing)
        #expect(try !store(.file(directory.url.appendingPathComponent("hsts/unreadable"))).changesNothing)
    }

    @Test("A file is read, written for this user alone, and shared by all who name it")
    func sharing() async throws {
        try Data(".known.example \"unlimited\"\n".utf8).write(to: file)
        do {
            let (first, second) = (try store(), try store())
            #expect(first === second)
            #expect(try isSecured("a.known.example", by: first))
            first.note(field, from: "new.example")
            #expect(try isSecured("new.example", by: second))
            try await wait(forLine: "\nnew.example \"")
            #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
        }
        #expect(try isSecured("new.example", by: store()))
        #expect(directory.content == ["hsts"])
    }

    @Test("A policy that another program has written meanwhile is kept, and one that ends is taken out")
    func merging() async throws {
        let store = try store()
        store.note(field, from: "ours.example")
        store.note(field, from: "gone.example")
        try await wait(forLine: "gone.example")
        let text = try String(contentsOf: file, encoding: .utf8) + "theirs.example \"unlimited\"\n"
        try text.write(to: file, atomically: true, encoding: .utf8)
        store.note(TransportSecurityField(maximumAge: 0, includesSubdomains: false), from: "gone.example")
        store.note(field, from: "last.example")
        try await wait(forLine: "last.example")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").dropFirst()
        #expect(
            lines.compactMap { $0.split(separator: " ").first } == ["last.example", "ours.example", "theirs.example"]
        )
    }

    @Test("A policy that another program has added or taken out counts once the file has been written again")
    func adopting() async throws {
        try Data("known.example \"unlimited\"\n".utf8).write(to: file)
        let store = try store()
        store.note(field, from: "ours.example")
        await finishWrites(of: store)
        try Data("ours.example \"unlimited\"\n.theirs.example \"unlimited\"\n".utf8).write(to: file)
        #expect(try isSecured("known.example", by: store) && !isSecured("a.theirs.example", by: store))
        store.note(field, from: "last.example")
        await finishWrites(of: store)
        #expect(try !isSecured("known.example", by: store) && isSecured("a.theirs.example", by: store))
        #expect(try isSecured("ours.example", by: store) && isSecured("last.example", by: store))
        try Data().write(to: file)
        store.note(TransportSecurityField(maximumAge: 0, includesSubdomains: false), from: "last.example")
        await finishWrites(of: store)
        #expect(store.changesNothing)
    }

    @Test("A policy that is noted or ended while the file is being written is known afterwards")
    func notingWhileWriting() async throws {
        let text = (0..<5000).map { "h\($0).example \"unlimited\"\n" }.joined()
        try text.write(to: file, atomically: true, encoding: .utf8)
        let store = try store()
        for number in 0..<5000 {
            store.note(field, from: "new\(number).example")
            store.note(TransportSecurityField(maximumAge: 0, includesSubdomains: false), from: "h\(number).example")
        }
        await finishWrites(of: store)
        let isKept = try (0..<5000).map { number in
            try isSecured("new\(number).example", by: store) && !isSecured("h\(number).example", by: store)
        }
        #expect(!isKept.contains(false))
    }

    @Test("A file that lists very many hosts without end keeps them all")
    func manyHosts() async throws {
        let count = TransportSecurityHosts.maximumCount
        let text = (0..<count).map { "h\($0).example \"unlimited\"\n" }.joined()
        try text.write(to: file, atomically: true, encoding: .utf8)
        let store = try store()
        store.note(field, from: "new.example")
        await finishWrites(of: store)
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").dropFirst()
        #expect(lines.count == count + 1)
        #expect(lines.last?.hasPrefix("new.example ") == true)
    }

    @Test("A file that is too long to be read whole stays as it is")
    func tooManyLines() async throws {
        let comments = String(repeating: "#\n", count: 4 * TransportSecurityHosts.maximumCount)
        let text = "known.example \"unlimited\"\n" + comments
        try text.write(to: file, atomically: true, encoding: .utf8)
        let store = try store()
        store.note(field, from: "new.example")
        #expect(try isSecured("known.example", by: store) && isSecured("new.example", by: store))
        await finishWrites(of: store)
        #expect(try String(contentsOf: file, encoding: .utf8) == text)
    }

    @Test("With a file that can't be read no request goes out over http")
    func unreadable() throws {
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        let store = try store(.file(directory.url.appendingPathComponent("hsts", isDirectory: false)))
        let error = try #require(throws: URLError.self) { try isSecured("example.com", by: store) }
        #expect(error.code == .cannotOpenFile)
        #expect(error.localizedDescription.contains(file.path))
        #expect(try store.secured(Sample.url("https://example.com/")) == nil)
    }

    @Test(
        "With a pipe or a device in the file's place no request goes out over http, and it stays where it is",
        arguments: [true, false]
    )
    func irregular(isPipe: Bool) async throws {
        if isPipe {
            try #require(mkfifo(file.path, 0o600) == 0)
        } else {
            try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: "/dev/null")
        }
        let store = try store()
        #expect(!store.changesNothing)
        let error = try #require(throws: URLError.self) { try isSecured("example.com", by: store) }
        #expect(error.code == .cannotOpenFile)
        #expect(error.localizedDescription.contains("\(file.path), is not a regular file"))
        store.note(field, from: "example.com")
        await finishWrites(of: store)
        #expect(directory.content == ["hsts"])
        #expect(fileType == (isPipe ? S_IFIFO : S_IFLNK))
    }

    @Test("A pipe that takes the place of a file that was read is not replaced either")
    func laterPipe() async throws {
        let store = try store()
        try #require(mkfifo(file.path, 0o600) == 0)
        store.note(field, from: "example.com")
        await finishWrites(of: store)
        #expect(try isSecured("example.com", by: store))
        #expect(directory.content == ["hsts"])
        #expect(fileType == S_IFIFO)
    }

    @Test("Policies that can't be written are kept, and written with the next change")
    func unwritable() async throws {
        let folder = directory.url.appendingPathComponent("folder")
        let store = try store(.file(folder.appendingPathComponent("hsts")))
        store.note(field, from: "first.example")
        #expect(try isSecured("first.example", by: store))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        store.note(field, from: "second.example")
        let written = folder.appendingPathComponent("hsts")
        try await eventually {
            (try? String(contentsOf: written, encoding: .utf8))?.contains("second.example") == true
        }
        #expect(try String(contentsOf: written, encoding: .utf8).contains("first.example"))
    }

    @Test("However many hosts there are, policies that can't be written are kept for known ones, and written later")
    func muchUnwritable() async throws {
        let folder = directory.url.appendingPathComponent("folder")
        let store = try store(.file(folder.appendingPathComponent("hsts")))
        let limit = TransportSecurityHosts.maximumCount
        for number in 0...2 * limit { store.note(field, from: "h\(number).example") }
        await finishWrites(of: store)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        store.note(field, from: "last.example")
        await finishWrites(of: store)
        let text = try String(contentsOf: folder.appendingPathComponent("hsts"), encoding: .utf8)
        #expect(text.contains("\nlast.example ") && text.contains("\nh\(2 * limit).example "))
    }

    @Test("Only temporary files that killed processes left are removed")
    func abandoned() async throws {
        func temporary(_ prefix: String) -> String { "\(prefix).\(UUID().uuidString).tmp" }
        let locked = temporary("hsts")
        let kept = [locked, temporary("other"), "hsts.notes.tmp", "hsts.tmp"]
        for name in kept + [temporary("hsts"), temporary("hsts")] { _ = try directory.file(name, Data()) }
        let descriptor = open(directory.url.appendingPathComponent(locked).path, O_RDONLY | O_CLOEXEC)
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        defer { close(descriptor) }
        let store = try store()
        store.note(field, from: "example.com")
        try await wait(forLine: "example.com")
        #expect(Set(directory.content) == Set(kept + ["hsts"]))
    }

    @Test("An option that names no file is refused by name")
    func validation() throws {
        var options = CurlOptions()
        options.strictTransportSecurity = .file(try Sample.url("https://example.com/hsts"))
        let error = try #require(throws: CurlOptionsError.self) { try options.validate() }
        #expect(error.option == "strictTransportSecurity")
    }
}
