/// The peer of a handshake.
enum TLSPeer {
    case server
    case proxy
    /// A name server that libcurl queries over HTTPS.
    case resolver
}
