import Foundation
import Testing

@testable import CurlNetworking

@Suite("Units for systemd")
struct SystemdUnitsTests {
    private static func lines(folder: String, program: String) -> [String] {
        let folder = StateFolder(URL(fileURLWithPath: folder, isDirectory: true))
        return SystemdUnits(folder: folder, program: program).text.components(separatedBy: "\n")
    }

    @Test(
        "Characters that systemd would replace or take for the end of a word are escaped, as each line's syntax wants"
    )
    func escaping() {
        let lines = Self.lines(folder: #"/a $HOME/${b}/"c"/\d/100%/s"#, program: "/p $x/50%/agent")
        #expect(lines.contains(#"ListenStream=/a $HOME/${b}/"c"/\d/100%%/s/agent.socket"#))
        let argument = #""/a $$HOME/$${b}/\"c\"/\\d/100%%/s""#
        #expect(lines.contains(#"ExecStart="/p $x/50%%/agent" --systemd "# + argument))
    }

    @Test("They are escaped even if a combining accent follows")
    func accents() {
        let accent = "\u{301}"
        let lines = Self.lines(folder: "/\"\(accent)$\(accent)%\(accent)\\\(accent)", program: "/agent")
        let argument = "\"/\\\"\(accent)$$\(accent)%%\(accent)\\\\\(accent)\""
        #expect(lines.contains("ExecStart=\"/agent\" --systemd \(argument)"))
    }

    @Test("Two folders of one name have units of different names")
    func names() {
        let names = ["/a/tunes", "/b/tunes"].map { Self.lines(folder: $0, program: "/agent")[0] }
        #expect(names[0] != names[1] && names.allSatisfy { $0.contains("curlnetworking-tunes-") })
    }
}
