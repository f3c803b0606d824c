import CCurlNetworkingLibcurl

/// The connection that libcurl may keep now that a transfer is over.
struct IdleConnection {
    let socket: OpenedSocket
    let traffic: IdleTraffic

    /// nil if it isn't known what the server may send. `code` is the transfer's result.
    init?(of easy: EasyHandle, after code: CURLcode, on loop: EventLoop) {
        let socket: OpenedSocket?
        switch easy.info.long(CURLINFO_HTTP_VERSION) {
        case Int(CURL_HTTP_VERSION_1_0), Int(CURL_HTTP_VERSION_1_1):
            traffic = .nothing
            socket = code == CURLE_OK ? easy.opened : nil
        case Int(CURL_HTTP_VERSION_2_0):
            traffic = .frames
            socket = code == CURLE_OK ? easy.opened : nil
        default:
            traffic = .nothing
            // FTP's `opened` may be the data connection's socket; and if a server refuses something, its session goes on.
            socket = easy.info.speaksFTP ? easy.info.activeSocket.map(loop.current) : nil
        }
        guard let socket else { return nil }
        self.socket = socket
    }
}
