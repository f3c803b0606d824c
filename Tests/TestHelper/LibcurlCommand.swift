import CCurlNetworkingLibcurl
import CurlTransport
import Foundation

/// `libcurl`: says which libcurl this program was compiled with, which one it runs with, and where that was loaded from.
enum LibcurlCommand {
    static func run() throws {
        _ = CurlLibrary.version
        let maps = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/maps")).readToEnd() ?? Data()
        let files = Set(String(decoding: maps, as: UTF8.self).split { $0 == "\n" || $0 == " " })
        let file = files.first { $0.contains("/libcurl.so") } ?? "the program itself"
        Parent.say(
            "compiled with libcurl \(LIBCURL_VERSION), running with \(CurlLibrary.versionText) from \(file)"
        )
    }
}
