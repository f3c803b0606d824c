import Foundation
import Testing

@testable import CurlNetworking

@Suite("Property lists of others")
struct UntrustedPropertyListTests {
    private static func nested(_ depth: Int) -> Data {
        let (open, close) = (String(repeating: "<array>", count: depth), String(repeating: "</array>", count: depth))
        return Data("<?xml version=\"1.0\"?><plist><dict><key>a</key>\(open)\(close)</dict></plist>".utf8)
    }

    @Test("What is written is read back")
    func roundTrip() throws {
        let list: [String: Any] = ["a": 1, "b": ["c": [true, "d"]], "e": Data([1, 2])]
        let data = try #require(UntrustedPropertyList.data(list, containers: 4))
        let read = try #require(UntrustedPropertyList.dictionary(data, containers: 4))
        #expect(NSDictionary(dictionary: read) == NSDictionary(dictionary: list))
    }

    @Test("What is nested too deeply for Foundation's reader never reaches it")
    func nesting() {
        #expect(UntrustedPropertyList.dictionary(Self.nested(1_000_000), containers: 1000) == nil)
        #expect(UntrustedPropertyList.dictionary(Self.nested(10), containers: 12) != nil)
        #expect(UserInfo.decode(Self.nested(1_000_000)).isEmpty)
    }

    @Test("What can't be read back isn't written")
    func limits() {
        #expect(UntrustedPropertyList.data(["a": [[[]]]], containers: 4) == nil)
        #expect(UntrustedPropertyList.data(["a": NSObject()], containers: 4) == nil)
    }

    @Test(
        "Neither a binary list nor one without a dictionary is read",
        arguments: [
            PropertyListSerialization.PropertyListFormat.binary, .xml,
        ]
    )
    func others(_ format: PropertyListSerialization.PropertyListFormat) throws {
        let root: Any = format == .binary ? ["a": 1] : ["a"]
        let data = try PropertyListSerialization.data(fromPropertyList: root, format: format, options: 0)
        #expect(UntrustedPropertyList.dictionary(data, containers: 4) == nil)
    }

    @Test("A session's record with such a list of proxies is refused")
    func sessionRecord() throws {
        let configuration = URLSessionConfiguration.background(withIdentifier: "a")
        configuration.connectionProxyDictionary = ["HTTPEnable": true, "HTTPProxy": "proxy.example", "HTTPPort": 3128]
        var description = SessionDescription(configuration, delegate: nil)
        let folder = URL(fileURLWithPath: "/tmp")
        let proxies = try description.makeConfiguration(in: folder).connectionProxyDictionary
        #expect(proxies?["HTTPProxy"] as? String == "proxy.example")
        description.proxies = Self.nested(1_000_000)
        #expect(throws: CocoaError.self) { try description.makeConfiguration(in: folder) }
    }
}
