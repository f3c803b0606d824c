// What `bench-ours` runs on; the rest of it is `Sources/Client`.
@_exported import CurlNetworking

func turnOffMessageCompression(_ configuration: URLSessionConfiguration) {
    configuration.curl.webSockets.compression = nil
}
