extension StringProtocol {
    /// The domain above this one: what follows the first dot. nil without a dot.
    var parentDomain: SubSequence? {
        firstIndex(of: ".").map { self[index(after: $0)...] }
    }
}
