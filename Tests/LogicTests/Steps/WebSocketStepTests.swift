import Foundation
import Testing

@testable import CurlNetworking

@Suite("The web socket step")
struct WebSocketStepTests {
    let step = WebSocketStep(WebSocketExchange(WebSocketHandshake.Offer()))

    @Test("A request of a delegate's may have a web socket's URL, and is a GET without a body whatever it was")
    func ofDelegate() throws {
        var request = try Sample.request("wss://example.com/there", "POST", ["X-Own": "o"])
        request.httpBody = Data("ignored".utf8)
        let rig = StepRig(request)
        #expect(rig.prepare(step).isPass)
        #expect(rig.request?.url == (try Sample.url("https://example.com/there")))
        #expect(rig.request?.httpMethod == "GET" && rig.request?.httpBody == nil)
        #expect(rig.request?.value(forHTTPHeaderField: "X-Own") == "o")
    }

    @Test("A URL that is neither a web socket's nor HTTP's fails the task", arguments: ["ftp", "file"])
    func otherScheme(_ scheme: String) throws {
        let rig = StepRig(try Sample.request("\(scheme)://example.com/"))
        #expect(rig.prepare(step).failure?.code == .unsupportedURL)
    }
}
