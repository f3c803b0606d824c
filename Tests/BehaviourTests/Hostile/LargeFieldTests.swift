import CurlTransport
import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Fields larger than any that makes sense", .timeLimit(.minutes(1)))
struct LargeFieldTests {
    @Test("A response with a line of more than 100 KiB is a bad one", arguments: [99 * 1024, 101 * 1024, 1_000_000])
    func response(length: Int) async throws {
        let value = String(repeating: "x", count: length)
        let rig = try Rig { _ in .text("hello").header("X-Long", value) }
        defer { rig.stop() }
        let result = await rig.session.load(URLRequest(rig.url("/")))
        #expect(result.error?.code == (length > 100 * 1024 ? .badServerResponse : nil))
        #expect(result.response?.value(forHTTPHeaderField: "X-Long") == (length > 100 * 1024 ? nil : value))
        if let error = result.error { #expect(!error.localizedDescription.contains("memory")) }
    }

    @Test("A response with a line of more than 4 KiB in its trailers is a bad one", arguments: [4000, 5000, 200_000])
    func trailer(length: Int) async throws {
        let value = String(repeating: "x", count: length)
        let rig = try Rig { _ in .chunked(["hello"], trailers: ["X-Long": value]) }
        defer { rig.stop() }
        let result = await rig.session.load(URLRequest(rig.url("/")))
        #expect(result.error?.code == (length > 4096 ? .badServerResponse : nil))
        if let error = result.error { #expect(error.localizedDescription.contains("too long")) }
    }

    @Test("A URL that is too long for libcurl is a bad one, and nothing is sent", arguments: [1_100_000, 8_100_000])
    func url(length: Int) async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let error = await rig.session.load(rig.url("/" + String(repeating: "x", count: length))).error
        #expect(error?.code == .badURL)
        #expect(error?.localizedDescription.contains("too long") == true)
        #expect(rig.server.connectionCount == 0)
    }

    @Test("Fields that are too large for libcurl together fail the task, and nothing is sent")
    func fields() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        var request = URLRequest(rig.url("/"))
        let value = String(repeating: "x", count: 110_000)
        for number in 0..<10 { request.setValue(value, forHTTPHeaderField: "X-\(number)") }
        #expect(await rig.session.load(request).error?.code == .dataLengthExceedsMaximum)
        #expect(rig.server.connectionCount == 0)
    }

    @Test("A request's field of 400 KiB is sent whole, or the task fails where libcurl can't")
    func request() async throws {
        let value = String(repeating: "x", count: 400 * 1024)
        var options = LoopbackServer.Options()
        options.headLimit = 1 << 20
        let rig = try Rig(options: options) {
            .text($0.headers(named: "X-Long") == [value] ? "whole" : "not whole")
        }
        defer { rig.stop() }
        var request = URLRequest(rig.url("/"))
        request.setValue(value, forHTTPHeaderField: "X-Long")
        let result = await rig.session.load(request)
        if CurlQuirks.current.dropsLargeFields {
            #expect(result.error?.code == .dataLengthExceedsMaximum)
            #expect(rig.server.requests.isEmpty)
        } else {
            #expect(result.text == "whole")
        }
    }
}
