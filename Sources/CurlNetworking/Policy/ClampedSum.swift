extension Int64 {
    /// The sum, or the nearest number there is: what a server announces need not leave room for anything else.
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflows) = addingReportingOverflow(other)
        guard overflows else { return sum }
        return other < 0 ? .min : .max
    }
}
