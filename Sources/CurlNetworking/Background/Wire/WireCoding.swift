import Foundation

/// How messages and records are encoded: as JSON. Programs may set any number, including infinity, which JSON can't express. Any thread.
enum WireCoding {
    static let encoder = makeEncoder()

    /// Writes equal values as equal bytes.
    static let sortingEncoder = makeEncoder(.sortedKeys)

    private static func makeEncoder(_ formatting: JSONEncoder.OutputFormatting = []) -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf",
            negativeInfinity: "-inf",
            nan: "nan"
        )
        return encoder
    }

    static let decoder = {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf",
            negativeInfinity: "-inf",
            nan: "nan"
        )
        return decoder
    }()
}
