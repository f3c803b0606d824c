import Foundation

/// `halftunes upload`
struct UploadCommand {
    /// The catalogue of `halftunes serve`.
    private static let usualAPI = URL(string: "http://127.0.0.1:\(CatalogueServer.usualPort)")

    let invocation: Invocation

    init(_ invocation: Invocation) {
        self.invocation = invocation
    }

    func run() async throws -> Int32 {
        guard let api = invocation.api ?? Self.usualAPI else { return ExitCode.usage }
        var run = try UploadRun(URL(fileURLWithPath: invocation.operands.first ?? ""), to: api)
        return await run.run()
    }
}
