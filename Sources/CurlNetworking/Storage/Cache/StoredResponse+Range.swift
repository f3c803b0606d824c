import Foundation

extension StoredResponse {
    /// The response to a request for a range (RFC 9111 §3.3); nil unless this is a complete, uncoded representation that contains it.
    func part(_ range: CacheRange) -> StoredResponse? {
        guard form == .http, head.status == 200, head["Content-Encoding"] == nil,
            let bytes = range.bytes(of: data.count)
        else {
            return nil
        }
        var part = self
        part.head = head.removing(["content-length", "content-range"])
        part.head.status = 206
        part.head.fields += [
            HeaderField(
                name: "Content-Range",
                value: "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(data.count)"
            ),
            HeaderField(name: "Content-Length", value: "\(bytes.count)"),
        ]
        part.data = Data(data[data.startIndex + bytes.lowerBound..<data.startIndex + bytes.upperBound])
        return part
    }
}
