// What `bench-stock` runs on; the rest of it is `Sources/Client`.
@_exported import FoundationNetworking

/// The stock module compresses none.
func turnOffMessageCompression(_ configuration: URLSessionConfiguration) {}
