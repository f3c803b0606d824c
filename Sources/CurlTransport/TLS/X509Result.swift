/// Results of OpenSSL's verification.
/// https://docs.openssl.org/3.0/man3/X509_STORE_CTX_get_error/
package enum X509Result {
    package static let unspecified = 1
    package static let notYetValid = 9
    package static let expired = 10
    package static let badNotBefore = 13
    package static let badNotAfter = 14
    package static let revoked = 23
    package static let applicationVerification = 50
    package static let hostnameMismatch = 62
    package static let addressMismatch = 64
    /// The chain doesn't end in a trusted authority.
    package static let unknownRoots: Set<Int> = [2, 18, 19, 20, 21]
}
