/// A content coding that can be decoded (RFC 9110 §8.4.1), in the order in which they are offered.
package enum ContentCoding: String, Sendable, CaseIterable {
    /// RFC 1950, or bare RFC 1951, as some servers send it.
    case deflate
    /// RFC 1952.
    case gzip
    /// Brotli, RFC 7932.
    case brotli = "br"
    /// RFC 8878, with windows of up to 8 MiB (RFC 9659).
    case zstd

    /// nil for an unknown name. Case-insensitive.
    package init?(name: some StringProtocol) {
        let name = name.lowercased()
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    /// Whether the library that decodes it is installed.
    package var isAvailable: Bool {
        switch self {
        case .deflate, .gzip: InflateFunctions.loaded != nil
        case .brotli: BrotliFunctions.loaded != nil
        case .zstd: ZstdFunctions.loaded != nil
        }
    }

    /// The value of `Accept-Encoding`: every coding that can be decoded; nil if there is none.
    package static let offer = offer { $0.isAvailable }

    /// The value of `Accept-Encoding` for a body without a coding (RFC 9110 §12.5.3).
    package static let noCoding = "identity"

    static func offer(_ isAvailable: (ContentCoding) -> Bool) -> String? {
        let names = allCases.filter(isAvailable).map(\.rawValue)
        return names.isEmpty ? nil : names.joined(separator: ", ")
    }

    /// A decoder for this coding; nil if the library is missing or out of memory.
    func makeStage() -> (any DecodingStage)? {
        switch self {
        case .deflate: InflateStage(.deflate)
        case .gzip: InflateStage(.gzip)
        case .brotli: BrotliStage()
        case .zstd: ZstdStage()
        }
    }
}

/// Why a body can't be decoded.
package struct ContentDecodingError: Error, Equatable, CustomStringConvertible {
    package enum Reason: Sendable, Equatable {
        /// The data isn't valid in its coding; in the library's words.
        case damaged(String)
        /// The body ended before its coding did.
        case incomplete
        case outOfMemory
    }

    package let coding: ContentCoding
    package let reason: Reason

    package var description: String {
        switch reason {
        case .damaged(let text): "The body is not valid in its coding, \(coding.rawValue): \(text)."
        case .incomplete: "The body ends before its coding, \(coding.rawValue), is complete."
        case .outOfMemory: "There is not enough memory to decode \(coding.rawValue)."
        }
    }
}
