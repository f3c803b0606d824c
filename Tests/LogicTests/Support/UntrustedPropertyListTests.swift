import Foundation
import Testing

@testable import CurlNetworking

@Suite("Property lists of others")
struct UntrustedPropertyListTests {
    @Test("A property list is read back as it was written")
    func roundTrip() throws {
        let list: [String: Any] = ["a": 1, "b": ["c": [true, "d"]], "e": Data([1, 2])]
        let data = try #require(UntrustedPropertyList.data(list, containers: 4))
        let read = try #require(UntrustedPropertyList.dictionary(data, containers: 4))
        #expect(NSDictionary(dictionary: read) == NSDictionary(dictionary: list))
    }

    @Test("A list that is nested too deeply for Foundation's reader never reaches it")
    func nesting() {
        #expect(UntrustedPropertyList.dictionary(Sample.propertyList(nested: 1_000_000), containers: 1000) == nil)
        #expect(UntrustedPropertyList.dictionary(Sample.propertyList(nested: 10), containers: 12) != nil)
        #expect(UserInfo.decode(Sample.propertyList(nested: 1_000_000)).isEmpty)
    }

    @Test("A number that isn't UTF-8, at which Foundation's reader traps, never reaches it")
    func damagedNumber() throws {
        let text = "<?xml version=\"1.0\"?><plist><dict><key>a</key><integer>7</integer></dict></plist>"
        #expect(UntrustedPropertyList.dictionary(Data(text.utf8), containers: 4)?["a"] as? Int == 7)
        var data = Data(text.utf8)
        data[try #require(data.lastIndex(of: UInt8(ascii: "7")))] = 0xff
        #expect(!UntrustedPropertyList.isHarmless(data, containers: 4))
    }

    @Test(
        "A list in another encoding, whose tags can't be counted, isn't read",
        arguments: ["UTF-7", "utf-16", "IBM037", "UTF-8\" encoding=\"UTF-7"]
    )
    func otherEncodings(_ name: String) {
        // To Swift, U+0600 and a letter after it are one character.
        for attribute in ["encoding=", "\u{600}encoding="] {
            let text = "<?xml version=\"1.0\" \(attribute)\"\(name)\"?><plist><dict/></plist>"
            #expect(!UntrustedPropertyList.isHarmless(Data(text.utf8), containers: 4))
        }
    }

    @Test("A list that can't be read back isn't written")
    func limits() {
        #expect(UntrustedPropertyList.data(["a": [[[]]]], containers: 4) == nil)
        #expect(UntrustedPropertyList.data(["a": NSObject()], containers: 4) == nil)
    }

    @Test(
        "A value that is nested too deeply to be read back isn't written, and overflows no stack",
        arguments: [499, 500, 501, 100_000],
        [false, true]
    )
    func depth(levels: Int, ofDictionaries: Bool) {
        var value: Any = 1
        for _ in 0..<levels { value = ofDictionaries ? ["a": value] as [String: Any] : [value] as [Any] }
        // From the outside in: released at once, it would overflow the stack itself.
        defer {
            while let inner = (value as? [Any])?.first ?? (value as? [String: Any])?["a"] { value = inner }
        }
        let isTooDeep = UntrustedPropertyList.isTooDeep(value)
        let list = UntrustedPropertyList.data(["value": value], containers: 1000)
        let userInfo = UserInfo.encode(["value": value], leavingOut: { _ in false })
        #expect(isTooDeep == (levels > 500))
        #expect((list == nil) == (levels > 499))
        #expect(UserInfo.decode(userInfo).isEmpty == (levels > 499))
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
        description.proxies = Sample.propertyList(nested: 1_000_000)
        #expect(throws: CocoaError.self) { try description.makeConfiguration(in: folder) }
    }
}
