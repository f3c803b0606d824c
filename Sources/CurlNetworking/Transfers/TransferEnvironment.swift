import CurlTransport

/// The objects involved in every transfer of a task.
struct TransferEnvironment {
    let pool: ConnectionPool
    let settings: SessionSettings
    let hooks: TransferHooks?
    /// Whether metrics may be wanted.
    let isMeasured: Bool
    let delegate: any TransferDelegate
    /// The reads and writes of a stream task.
    let port: StreamPort?
    /// Whether a delegate decides about the response, and may make a stream of it.
    let decidesOnResponse: Bool
}
