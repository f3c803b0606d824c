// What `bench-ours` runs on; the rest of it is `Sources/Client`.
@_exported import CurlNetworking

/// The agent of its background sessions is the program itself.
func becomeAgentIfAsked() {
    CurlBackgroundAgent.runIfStartedAsAgent()
}

func runTasksOnEventLoop(_ configuration: URLSessionConfiguration) {
    configuration.curl.runsTasksOnEventLoop = true
}

/// nil unless the session's tasks are to run there.
func eventLoop(of session: URLSession) -> (any TaskExecutor)? {
    session.taskExecutor
}

func turnOffMessageCompression(_ configuration: URLSessionConfiguration) {
    configuration.curl.webSockets.compression = nil
}
