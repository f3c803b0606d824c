import CCurlNetworkingLibcurl

/// What libcurl says about a handle's transfer, while it runs and after its end. Loop only; as long as the handle lives.
/// https://curl.se/libcurl/c/curl_easy_getinfo.html
package struct TransferInfo {
    let handle: UnsafeMutableRawPointer
    /// Whether the request was about to be sent, or may have been.
    let hasBegunRequest: Bool

    // MARK: - By libcurl's names

    /// 0 if libcurl doesn't know.
    func long(_ info: CURLINFO) -> Int {
        var value = 0
        return clibcurl_easy_get_long(handle, info, &value) == CURLE_OK ? value : 0
    }

    /// 0 if libcurl doesn't know.
    func offset(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        return clibcurl_easy_get_offset(handle, info, &value) == CURLE_OK ? Int64(value) : 0
    }

    /// nil if libcurl doesn't know.
    func string(_ info: CURLINFO) -> String? {
        var value: UnsafePointer<CChar>?
        guard clibcurl_easy_get_string(handle, info, &value) == CURLE_OK, let value, value[0] != 0 else { return nil }
        return String(cString: value)
    }

    // MARK: - The connection

    /// 0 without a connection, and for one that isn't IP, for which libcurl says 0 (7.88 and 8.14) or -1 (8.21).
    var localPort: Int { max(0, long(CURLINFO_LOCAL_PORT)) }

    /// nil while the transfer has no IP connection.
    var endpoints: ConnectionEndpoints? {
        let port = localPort
        guard port > 0 else { return nil }
        return ConnectionEndpoints(
            localPort: port,
            remotePort: long(CURLINFO_PRIMARY_PORT),
            remoteAddress: string(CURLINFO_PRIMARY_IP)
        )
    }

    /// The socket of the transfer's connection, if libcurl still has it.
    /// https://curl.se/libcurl/c/CURLINFO_ACTIVESOCKET.html
    var activeSocket: Int32? {
        var socket = CURL_SOCKET_BAD
        guard clibcurl_easy_get_socket(handle, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK, socket >= 0 else {
            return nil
        }
        return socket
    }

    /// Whether the connection is an FTP session: a proxy may be asked over HTTP instead.
    package var speaksFTP: Bool { string(CURLINFO_SCHEME)?.lowercased().hasPrefix("ftp") == true }

    /// Whether an earlier transfer has made the connection.
    package var usesKeptConnection: Bool { long(CURLINFO_NUM_CONNECTS) == 0 }

    /// Whether a response's first line has arrived over HTTP/2.
    var speaksHTTP2: Bool { long(CURLINFO_HTTP_VERSION) == CURL_HTTP_VERSION_2_0 }

    // MARK: - Progress

    /// When a request got to `stage`, in microseconds since the transfer began; 0 if it didn't. If a transfer ends before its request, libcurl
    /// sets these times all the same (8.21; not 8.14).
    func requestTime(_ stage: CURLINFO) -> Int64 { hasBegunRequest ? offset(stage) : 0 }

    /// Whether libcurl has begun to send the request.
    var hasSentHead: Bool { requestTime(CURLINFO_PRETRANSFER_TIME_T) > 0 }

    /// Whether libcurl has begun to receive the response, or to send the request's body.
    var hasResponse: Bool { requestTime(CURLINFO_STARTTRANSFER_TIME_T) > 0 }

    /// Whether what arrives on the transfer's connection may be for it: an FTP session's replies come before what libcurl calls the request.
    var mayReceive: Bool { hasSentHead || speaksFTP }

    /// Bytes moved in either direction since the transfer began, heads included.
    package var bytesMoved: Int64 { offset(CURLINFO_SIZE_UPLOAD_T) + bytesReceived }

    /// In bytes, as libcurl counts them for the transfer's maximum rates.
    package var bodiesMoved: (received: Int64, sent: Int64) {
        (offset(CURLINFO_SIZE_DOWNLOAD_T), offset(CURLINFO_SIZE_UPLOAD_T))
    }

    /// Includes bytes that libcurl holds back while the transfer is paused.
    var bytesReceived: Int64 { offset(CURLINFO_SIZE_DOWNLOAD_T) + Int64(long(CURLINFO_HEADER_SIZE)) }
}
