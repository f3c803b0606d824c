import Glibc

/// Runs `body` on a thread that files' permissions bind: the superuser, as whom tests often run, may read and write everything. Other
/// threads stay what they are.
package func asOrdinaryUser<Result>(_ body: () throws -> Result) throws -> Result {
    typealias SetUser = @convention(c) (uid_t) -> Int32
    guard geteuid() == 0 else { return try body() }
    guard let symbol = dlsym(nil, "setfsuid") else { throw ChildProcess.Failure(description: "There is no setfsuid") }
    let setUser = unsafeBitCast(symbol, to: SetUser.self)
    _ = setUser(65534)
    defer { _ = setUser(0) }
    return try body()
}
