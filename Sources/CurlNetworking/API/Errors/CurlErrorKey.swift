/// The keys that this module adds to a `URLError`'s `userInfo`.
public enum CurlErrorKey {
    /// libcurl's `CURLcode`, an `Int`. <https://curl.se/libcurl/c/libcurl-errors.html>
    public static let code = "CurlNetworkingCURLcode"
    /// libcurl's own text about this failure, a `String`.
    public static let text = "CurlNetworkingErrorText"
    /// How far the transfer had got, a `String`: preparing, resolving, connecting, securing, sending or receiving.
    public static let phase = "CurlNetworkingPhase"
    /// OpenSSL's number for the reason why the server's certificate isn't trusted, an `Int`; see
    /// `URLError.certificateProblem`. <https://docs.openssl.org/3.0/man3/X509_STORE_CTX_get_error/>
    public static let verification = "CurlNetworkingVerification"
    /// The status with which a proxy refused a tunnel, an `Int`.
    public static let proxyStatus = "CurlNetworkingProxyStatus"
    /// Why a SOCKS proxy made no connection, as libcurl numbers it (`CURLPX_…`), an `Int`.
    /// <https://curl.se/libcurl/c/CURLINFO_PROXY_ERROR.html>
    public static let proxyReason = "CurlNetworkingProxyReason"
}
