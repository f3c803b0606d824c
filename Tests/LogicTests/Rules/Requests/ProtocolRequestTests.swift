import Foundation
import Testing

@testable import CurlNetworking

@Suite("Requests as protocol classes see them")
struct ProtocolRequestTests {
    private func request(_ fields: [String: String] = [:]) -> URLRequest {
        var request = URLRequest(url: URL(fileURLWithPath: "/"))
        for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
        return request
    }

    private let additional = [
        HeaderField(name: "X-Session", value: "session"), HeaderField(name: "Accept", value: "a/b"),
    ]

    @Test("Protocol classes see requests with the session's fields, unless they have their own")
    func fields() {
        let seen = ProtocolRequest(request(["accept": "own"]), additional: additional, cookies: nil)
        #expect(seen.complete.allHTTPHeaderFields?["X-Session"] == "session")
        #expect(seen.complete.value(forHTTPHeaderField: "Accept") == "own")
        #expect(seen.plain.allHTTPHeaderFields?.count == 1)
    }

    @Test("Protocol classes see requests with the stored cookies after their own")
    func cookies() {
        let own = ProtocolRequest(request(["Cookie": "a=own"]), additional: [], cookies: "a=stored; b=stored")
        #expect(own.complete.value(forHTTPHeaderField: "Cookie") == "a=own; b=stored")
        let stored = ProtocolRequest(request(), additional: [], cookies: "b=stored")
        #expect(stored.complete.value(forHTTPHeaderField: "Cookie") == "b=stored")
        let session = [HeaderField(name: "Cookie", value: "c=session")]
        let both = ProtocolRequest(request(), additional: session, cookies: "b=stored")
        #expect(both.complete.value(forHTTPHeaderField: "Cookie") == "c=session; b=stored")
    }

    @Test("Fields that a class has merely taken over go, and those that it or the request has set stay")
    func withoutAdditions() {
        let seen = ProtocolRequest(request(["Cookie": "a=own"]), additional: additional, cookies: "b=stored")
        var next = seen.complete
        #expect(seen.withoutAdditions(next).allHTTPHeaderFields == ["Cookie": "a=own"])
        next.setValue("changed", forHTTPHeaderField: "X-Session")
        next.setValue("c=new", forHTTPHeaderField: "Cookie")
        let fields = seen.withoutAdditions(next).allHTTPHeaderFields
        #expect(fields == ["Cookie": "c=new", "X-Session": "changed"])
    }
}
