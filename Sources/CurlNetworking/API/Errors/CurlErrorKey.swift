/// The keys that this module adds to a `URLError`'s `userInfo`.
public enum CurlErrorKey {
    /// libcurl's `CURLcode`, an `Int`. <https://curl.se/libcurl/c/libcurl-errors.html>
    public static let code = "CurlNetworkingCURLcode"
    /// libcurl's description of this failure, a `String`.
    public static let text = "CurlNetworkingErrorText"
    /// The phase that the transfer had reached, a `String`: preparing, resolving, connecting, securing, sending or receiving.
    public static let phase = "CurlNetworkingPhase"
    /// OpenSSL's number for the reason the server's certificate isn't trusted, an `Int`; see
    /// `URLError.certificateProblem`. <https://docs.openssl.org/3.0/man3/X509_STORE_CTX_get_error/>
    public static let verification = "CurlNetworkingVerification"
    /// The status with which a proxy refused a tunnel, an `Int`.
    public static let proxyStatus = "CurlNetworkingProxyStatus"
    /// libcurl's number (`CURLPX_…`) for the reason a SOCKS proxy made no connection, an `Int`.
    /// <https://curl.se/libcurl/c/CURLINFO_PROXY_ERROR.html>
    public static let proxyReason = "CurlNetworkingProxyReason"
}
