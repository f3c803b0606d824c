// What `bench-stock` runs on; the rest of it is `Sources/Client`.
@_exported import FoundationNetworking

func makeStream(_ arguments: Arguments) throws -> any Scenario {
    throw Complaint("the stock module has no stream tasks")
}

func makeBackground(_ arguments: Arguments) throws -> any Scenario {
    throw Complaint("the stock module has no background sessions")
}

func becomeAgentIfAsked() {}

/// The stock module compresses none.
func turnOffMessageCompression(_ configuration: URLSessionConfiguration) {}

/// The stock module has no event loop.
func runTasksOnEventLoop(_ configuration: URLSessionConfiguration) {}

func eventLoop(of session: URLSession) -> (any TaskExecutor)? {
    nil
}
