// What `CurlNetworkingParityOurs` runs on; the rest of it is `Shared`.
@_exported import CurlNetworking

extension URLSessionConfiguration {
    /// Has its sessions use the transport that this run is about: there is no other.
    func useTransport() {}
}

extension URLSessionStreamTask: StreamTask {}

extension URLSession {
    func openStream(host: String, port: Int) -> (any StreamTask)? { streamTask(withHostName: host, port: port) }
}
