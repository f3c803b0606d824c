@testable import CurlTransport
import Foundation

@testable import CurlNetworking

/// Bodies that are taken apart.
extension FuzzTarget {
    static let bodies =
        [
            FuzzTarget("multipart") { bytes in
                let type = "multipart/x-mixed-replace; boundary=cut"
                let whole = parts(of: type) { give in give(bytes) }
                let pieces = parts(of: type) { give in bytes.inTwoPieces(give) }
                precondition(whole == pieces, "where the bytes are cut makes no difference")
            },
            FuzzTarget("multipart-type", text: { text in _ = PartParser(contentType: text) }),
            FuzzTarget(
                "data-url",
                text: { text in
                    guard let url = URL(string: "data:" + text), let data = try? DataURL(url) else { return }
                    precondition(!data.mimeType.isEmpty && data.content.count <= url.absoluteString.utf8.count)
                }
            ),
        ] + ContentCoding.allCases.filter(\.isAvailable).map(decoding)

    /// The fields and the body of each part; nil where one has a head that is too large.
    private static func parts(
        of type: String,
        _ give: ((UnsafeRawBufferPointer) -> Void) -> Void
    ) -> [[UInt8]]? {
        guard var parser = PartParser(contentType: type) else { return nil }
        var parts: [[UInt8]] = []
        var isRefused = false
        give { piece in
            do {
                for event in isRefused ? [] : try parser.parse(piece) {
                    switch event {
                    case .part(let fields): parts += [fields.flatMap { "\($0.name):\($0.value)\n".utf8 }, []]
                    case .body(let bytes): parts[parts.count - 1] += bytes
                    }
                }
            } catch {
                isRefused = true
            }
        }
        if let rest = parser.finish() { parts[parts.count - 1] += rest }
        return isRefused ? nil : parts
    }

    private static func decoding(_ coding: ContentCoding) -> FuzzTarget {
        FuzzTarget("coding-\(coding.rawValue)") { bytes in
            guard let decoder = try? ContentDecoder([coding]) else { return }
            var output = [UInt8](repeating: 0, count: 4096)
            // As much as is decoded of a body in one turn, and more.
            let most = 4 << 20
            var (rest, produced) = (bytes, 0)
            while produced < most {
                guard let step = try? output.withUnsafeMutableBytes({ try decoder.decode(rest, into: $0) }) else {
                    return
                }
                precondition(step.consumed <= rest.count && step.produced <= output.count)
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(step.consumed))
                produced += step.produced
                guard step.hasMore else { break }
            }
            try? decoder.finish()
        }
    }
}
