extension KeyedDecodingContainer {
    /// A number that another process has counted. Throws if it is negative, since the difference between two counts must not overflow.
    func decodeCount(forKey key: Key) throws -> Int64 {
        let count = try decode(Int64.self, forKey: key)
        guard count >= 0 else {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "negative")
        }
        return count
    }
}
