import Foundation

/// The content of the public API's resume data: a versioned property list. Data read back is untrusted.
protocol VersionedResumeData: Codable {
    static var currentVersion: Int { get }
    static var limits: UntrustedPropertyList.Limits { get }
    /// What error texts call it, such as "The resume data".
    static var name: String { get }

    var version: Int { get }
    /// Whether its values go together, as those that this module writes do.
    var isPlausible: Bool { get }
}

extension VersionedResumeData {
    /// nil if it couldn't be read back.
    func encoded() -> Data? { isPlausible ? UntrustedPropertyList.encode(self, Self.limits) : nil }

    /// Throws unless `data` is our resume data, of this version, and plausible.
    init(decoding data: Data) throws(URLError) {
        guard let decoded: Self = UntrustedPropertyList.decode(data, Self.limits) else {
            throw Self.invalid("can't be read")
        }
        guard decoded.version == Self.currentVersion else {
            throw Self.invalid("has version \(decoded.version), which is not supported")
        }
        guard decoded.isPlausible else { throw Self.invalid("makes no sense") }
        self = decoded
    }

    private static func invalid(_ text: String) -> URLError {
        URLError(.unsupportedURL, url: nil, "\(name) \(text).")
    }
}
