// What `CurlNetworkingParityStock` runs on; the rest of it is `Shared`.
@_exported import FoundationNetworking
import Synchronization

package enum Transport {
    /// What sessions load through instead of the stock module's own transport.
    package static let protocolClasses = Mutex<[URLProtocol.Type]>([])
}

extension URLSessionConfiguration {
    /// Has its sessions use the transport that this run is about.
    func useTransport() {
        let classes = Transport.protocolClasses.withLock { $0 }
        if !classes.isEmpty { protocolClasses = classes }
    }
}

extension URLSession {
    /// The stock module marks `streamTask(withHostName:port:)` unavailable: no program that calls it compiles.
    func openStream(host: String, port: Int) -> (any StreamTask)? { nil }
}
