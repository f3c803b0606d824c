extension FixedWidthInteger {
    /// The sum, clamped to the range of its type: numbers from servers and files may overflow.
    func addingClamped(_ other: Self) -> Self {
        let (sum, overflows) = addingReportingOverflow(other)
        guard overflows else { return sum }
        return other < 0 ? .min : .max
    }
}
