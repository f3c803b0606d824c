import CCurlNetworkingLibcurl

/// Makes up for `CurlQuirks.forgetsHTTP2Input`. Loop only.
///
/// Such a libcurl reads up to 32 KiB of a connection at once and hands them to the streams. Where one's receive buffer is full it stops until
/// that stream has been read, and then doesn't go on by itself: what lies behind waits for the socket's next event, which doesn't come
/// where the server waits for us. The end of a response can be stuck so, or what is on its way to others behind the bytes of a paused one.
///
/// So before the loop sleeps, libcurl is made to look at the connections of all transfers that have received something since it last was.
struct HTTP2StalledInput {
    private var transfers: [ObjectIdentifier: EasyHandle] = [:]
    private var suspects: [ObjectIdentifier: ConnectionGroup] = [:]

    /// There is nothing to look at.
    var isIdle: Bool { transfers.isEmpty && suspects.isEmpty }

    /// The transfer has heard something: from its response's head on, it is known whether it is one of HTTP/2.
    mutating func heard(_ easy: EasyHandle) {
        // The version alone could be that of a proxy's tunnel.
        guard easy.http2Input.isMultiplexed == nil, easy.longInfo(CURLINFO_RESPONSE_CODE) != 0 else { return }
        let isMultiplexed = easy.longInfo(CURLINFO_HTTP_VERSION) == CURL_HTTP_VERSION_2_0
        easy.http2Input.isMultiplexed = isMultiplexed
        if isMultiplexed { transfers[ObjectIdentifier(easy)] = easy }
    }

    /// The transfer is out of the multi; whether it `wasOver`, so that libcurl was not stopped at its stream.
    mutating func left(_ easy: EasyHandle, wasOver: Bool) {
        guard easy.http2Input.isMultiplexed == true else { return }
        transfers[ObjectIdentifier(easy)] = nil
        if !wasOver { suspect(easy) }
    }

    private mutating func suspect(_ easy: EasyHandle) {
        if let group = easy.connections { suspects[ObjectIdentifier(group)] = group }
    }

    /// The sockets that libcurl is to look at now.
    mutating func takeSockets() -> [Int32] {
        for easy in transfers.values where easy.http2Input.hasGrown(to: easy.bytesReceived) { suspect(easy) }
        guard !suspects.isEmpty else { return [] }
        defer { suspects.removeAll(keepingCapacity: true) }
        return suspects.values.flatMap(\.sockets)
    }
}

struct HTTP2InputState {
    /// nil before the response's head.
    var isMultiplexed: Bool?
    private var bytesReceived: Int64 = 0

    mutating func hasGrown(to bytesReceived: Int64) -> Bool {
        defer { self.bytesReceived = bytesReceived }
        return bytesReceived != self.bytesReceived
    }
}
