// What `bench-ours` runs on; the rest of it is `Sources/Client`.
@_exported import CurlNetworking

/// The agent of its background sessions is the program itself.
func becomeAgentIfAsked() {
    CurlBackgroundAgent.runIfStartedAsAgent()
}

func turnOffMessageCompression(_ configuration: URLSessionConfiguration) {
    configuration.curl.webSockets.compression = nil
}
