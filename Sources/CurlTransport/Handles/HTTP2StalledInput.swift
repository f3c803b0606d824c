import CCurlNetworkingLibcurl

/// Works around `CurlQuirks.forgetsHTTP2Input`. Loop only.
///
/// An affected libcurl reads up to 32 KiB of a connection at once and distributes them to the streams. If a stream's receive buffer is
/// full, it stops until that stream has been read, but then doesn't continue by itself: the rest waits for the socket's next event, which
/// doesn't come if the server is waiting for us. The end of a response can get stuck this way, or data for other streams that follows a
/// paused stream's.
///
/// So before the loop sleeps, libcurl is made to look at the connections of all transfers that have received something since the last such
/// look.
struct HTTP2StalledInput {
    private var transfers: [ObjectIdentifier: EasyHandle] = [:]
    private var suspects: [ObjectIdentifier: ConnectionGroup] = [:]

    /// There is nothing to look at.
    var isIdle: Bool { transfers.isEmpty && suspects.isEmpty }

    /// Called when the transfer has received something: from its response's head on, it is known whether it uses HTTP/2.
    mutating func heard(_ easy: EasyHandle) {
        // The version alone could be that of a proxy's tunnel.
        guard easy.http2Input.isMultiplexed == nil, easy.longInfo(CURLINFO_RESPONSE_CODE) != 0 else { return }
        let isMultiplexed = easy.longInfo(CURLINFO_HTTP_VERSION) == CURL_HTTP_VERSION_2_0
        easy.http2Input.isMultiplexed = isMultiplexed
        if isMultiplexed { transfers[ObjectIdentifier(easy)] = easy }
    }

    /// Called when the transfer has left the multi. `wasOver` means that libcurl didn't stop at its stream.
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
