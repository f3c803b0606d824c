import Foundation
import Testing

@testable import CurlNetworking

@Suite("Numbers in the records of background tasks")
struct RecordNumberTests {
    private func record(identifier: Int = 1) throws -> TaskRecord {
        TaskRecord(
            TaskSubmission(
                key: UUID(),
                identifier: identifier,
                kind: .download,
                request: try #require(RequestDescription(Sample.request())),
                cookies: [],
                intent: TaskIntent(isSuspended: false, settings: TaskSettings())
            )
        )
    }

    @Test("A task's number is one that can be reached by counting", arguments: [0, -1, .min, (1 << 32) + 1, .max])
    func identifiers(identifier: Int) throws {
        #expect(try record(identifier: 1 << 32).fault == nil)
        #expect(try record(identifier: identifier).fault != nil)
        #expect(RecordName("\(identifier)-\(UUID().uuidString).task") == nil)
        #expect(RecordName(batch: "\(identifier)-\(UUID().uuidString).tasks") == nil)
    }

    @Test("A time that agents have worked is a century at most", arguments: [-1, 4e9, 1e300, .infinity, .nan])
    func elapsed(seconds: Double) throws {
        var record = try record()
        record.elapsed = 3e9
        #expect(record.fault == nil)
        record.elapsed = seconds
        #expect(record.fault != nil)
    }

    @Test("A session's record with options that make no sense is set aside, for a reason without their values")
    func options() {
        func fault(_ change: (inout AgentOptions) -> Void) -> String? {
            var settings = SessionDescription(.background(withIdentifier: "a"), delegate: nil)
            change(&settings.options)
            let record = SessionRecord(identifier: "a", settings: settings)
            return record.fault(in: URL(fileURLWithPath: "/tmp", isDirectory: true))
        }
        let faults = [
            fault { _ in },
            fault { $0.maximumConnections = -5 },
            fault { $0.maximumStreamsPerConnection = 0 },
            fault { $0.uploadInteropVersion = 99 },
            fault { $0.hosts["*"].names.addresses = ["bad"] },
        ]
        let names = [
            "maximumConnections", "maximumStreamsPerConnection", "uploadInteropVersion", "hosts[\"*\"].names.addresses",
        ]
        #expect(faults == [nil] + names.map { "settings that make no sense: curl.\($0)" })
    }

    @Test("New tasks count on from the highest number, unless that is so high that there would be none left")
    func reservations() {
        let configuration = URLSessionConfiguration.ephemeral
        let core = SessionCore(
            configuration,
            settings: SessionSettings(configuration),
            delegate: nil,
            delegateQueue: OperationQueue()
        )
        core.reserveTaskIdentifiers(through: 7)
        #expect(core.makeTaskIdentifier() == 8)
        core.reserveTaskIdentifiers(through: .max)
        #expect(core.makeTaskIdentifier() == 9)
        core.reserveTaskIdentifiers(through: RecordName.identifiers.upperBound)
        #expect(core.makeTaskIdentifier() == 10)
        core.reserveTaskIdentifiers(through: 1 << 31)
        #expect(RecordName.identifiers.contains(core.makeTaskIdentifier()))
    }
}
