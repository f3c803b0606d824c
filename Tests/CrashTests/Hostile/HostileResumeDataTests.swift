import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("Resume data that attack the parser of property lists", .timeLimit(.minutes(2)))
struct HostileResumeDataTests {
    /// Resumes with `data`, a download and an upload, and ends the process: with success where both failed with a clear error.
    private static func resume(_ data: Data) async -> Never {
        let isClear = await isRefused { try await URLSession.shared.download(resumeFrom: data).1 }
        let isClearForUpload = await isRefused { try await URLSession.shared.upload(resumeFrom: data).1 }
        exit(isClear && isClearForUpload ? EXIT_SUCCESS : EXIT_FAILURE)
    }

    private static func isRefused(_ body: () async throws -> URLResponse) async -> Bool {
        do {
            _ = try await body()
            return false
        } catch {
            return (error as? URLError)?.code == .unsupportedURL
        }
    }

    @Test("Resume data of arrays in arrays without end, in XML, crashes nothing")
    func deepXML() async {
        await #expect(processExitsWith: .success) {
            let head = "<?xml version=\"1.0\"?><plist version=\"1.0\">"
            await Self.resume(Data((head + String(repeating: "<array>", count: 140_000)).utf8))
        }
    }

    @Test("Resume data of property lists in each other, in XML, crashes nothing")
    func nestedLists() async {
        await #expect(processExitsWith: .success) {
            await Self.resume(Data(("<?xml version=\"1.0\"?>" + String(repeating: "<plist>", count: 30_000)).utf8))
        }
    }

    @Test("Resume data of arrays in arrays without end, in the old style, crashes nothing")
    func deepOldStyle() async {
        await #expect(processExitsWith: .success) {
            await Self.resume(Data(String(repeating: "(", count: 1_000_000).utf8))
        }
    }

    @Test("Resume data of dictionaries in dictionaries without end, under a key that is looked for, crashes nothing")
    func deepDictionaries() async {
        await #expect(processExitsWith: .success) {
            let head = "<?xml version=\"1.0\"?><plist version=\"1.0\">"
            await Self.resume(Data((head + String(repeating: "<dict><key>url</key>", count: 50_000)).utf8))
        }
    }

    @Test("Resume data of an array that contains itself, in binary, crashes nothing")
    func selfContaining() async {
        await #expect(processExitsWith: .success) {
            // One object: an array of one, number 0, itself.
            let bytes: [UInt8] =
                Array("bplist00".utf8) + [0xA1, 0x00, 0x08] + [0, 0, 0, 0, 0, 0, 1, 1]
                + [0, 0, 0, 0, 0, 0, 0, 1] + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 10]
            await Self.resume(Data(bytes))
        }
    }

    @Test("Resume data of arrays that double at each level, in binary, crashes nothing")
    func exponential() async {
        await #expect(processExitsWith: .success) {
            let levels: UInt8 = 60
            var bytes = Array("bplist00".utf8)
            for level in 0..<levels { bytes += [0xA2, level + 1, level + 1] }
            bytes.append(0xA0)
            let tableOffset = bytes.count
            for level in 0...levels { bytes.append(8 + 3 * level) }
            bytes += [0, 0, 0, 0, 0, 0, 1, 1]
            for number in [UInt64(levels) + 1, 0, UInt64(tableOffset)] {
                withUnsafeBytes(of: number.bigEndian) { bytes += Array($0) }
            }
            await Self.resume(Data(bytes))
        }
    }

    @Test("Resume data of lengths beyond all memory, in binary, crashes nothing")
    func hugeCounts() async {
        await #expect(processExitsWith: .success) {
            for marker: UInt8 in [0x4F, 0x5F, 0x6F, 0xAF, 0xDF] {
                var bytes = Array("bplist00".utf8) + [marker, 0x13] + [0x7F] + [UInt8](repeating: 0xFF, count: 7)
                let tableOffset = bytes.count
                bytes += [8, 0, 0, 0, 0, 0, 0, 1, 1]
                for number in [1, 0, UInt64(tableOffset)] {
                    withUnsafeBytes(of: number.bigEndian) { bytes += Array($0) }
                }
                let data = Data(bytes)
                let error = await #expect(throws: URLError.self) {
                    try await URLSession.shared.download(resumeFrom: data)
                }
                #expect(error?.code == .unsupportedURL)
            }
        }
    }
}
