import Foundation
import Testing

@testable import CurlNetworking

@Suite("Media types of what has no server to name them")
struct MIMETypeTests {
    @Test(
        "The type of what an FTP URL names is that of a listing, or follows from the file's name without its type code",
        arguments: [
            ("", "text/plain"), ("/", "text/plain"), ("/folder/", "text/plain"), ("/%2F", "text/plain"),
            ("/folder;type=d", "text/plain"), ("/a.png/;type=D", "text/plain"), ("/a.png", "image/png"),
            ("/a.PNG;type=i", "image/png"), ("/a%2Epng;type=a", "image/png"), ("/caf%E9.png", "image/png"),
            ("/a;b.png", "image/png"), ("/a.png;b", MIMEType.unknown), ("/a", MIMEType.unknown),
        ]
    )
    func ftp(path: String, type: String) throws {
        #expect(try MIMEType.guess(forFTP: Sample.url("ftp://host" + path)) == type)
    }
}
