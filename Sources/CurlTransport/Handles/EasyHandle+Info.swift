import CCurlNetworkingLibcurl

/// libcurl's information on the transfer that is running, or on the last one.
extension EasyHandle {
    /// nil while the transfer has no IP connection.
    var endpoints: ConnectionEndpoints? {
        let port = longInfo(CURLINFO_LOCAL_PORT)
        guard port > 0 else { return nil }
        return ConnectionEndpoints(
            localPort: port,
            remotePort: longInfo(CURLINFO_PRIMARY_PORT),
            remoteAddress: text(CURLINFO_PRIMARY_IP)
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

    /// Whether the transfer's IP connection, which other transfers may share, has been closed, by either side.
    package var hasLostConnection: Bool {
        guard endpoints != nil, let connections else { return false }
        return connections.socket(of: self).map(TCPSocket.hasEnded) ?? true
    }

    /// Bytes moved in either direction since the transfer began, heads included.
    package var bytesMoved: Int64 { info(CURLINFO_SIZE_UPLOAD_T) + bytesReceived }

    /// Includes bytes that libcurl holds back while the transfer is paused.
    var bytesReceived: Int64 { info(CURLINFO_SIZE_DOWNLOAD_T) + Int64(longInfo(CURLINFO_HEADER_SIZE)) }

    /// Whether the connection is an FTP session: a proxy may be asked over HTTP instead.
    package var speaksFTP: Bool { text(CURLINFO_SCHEME)?.lowercased().hasPrefix("ftp") == true }

    /// Whether an earlier transfer has made the connection.
    package var usesKeptConnection: Bool { longInfo(CURLINFO_NUM_CONNECTS) == 0 }

    /// Whether libcurl has begun to send the request.
    var hasSentHead: Bool { info(CURLINFO_PRETRANSFER_TIME_T) > 0 }

    package var phase: TransferPhase { TransferPhase(of: self) }

    /// 0 if libcurl doesn't know.
    func info(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        return clibcurl_easy_get_offset(handle, info, &value) == CURLE_OK ? Int64(value) : 0
    }

    /// 0 if libcurl doesn't know.
    func longInfo(_ info: CURLINFO) -> Int {
        var value = 0
        return clibcurl_easy_get_long(handle, info, &value) == CURLE_OK ? value : 0
    }

    /// Whether a response's first line has arrived over HTTP/2.
    var speaksHTTP2: Bool { longInfo(CURLINFO_HTTP_VERSION) == CURL_HTTP_VERSION_2_0 }
}
