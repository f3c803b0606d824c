extension Int64 {
    /// The sum, clamped to the range of `Int64`: numbers sent by servers may overflow.
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflows) = addingReportingOverflow(other)
        guard overflows else { return sum }
        return other < 0 ? .min : .max
    }
}
