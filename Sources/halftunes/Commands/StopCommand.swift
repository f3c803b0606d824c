import CurlNetworking
import Foundation

/// `halftunes stop`: ends what goes on in the background, as if the app had been quit for good.
struct StopCommand {
    let invocation: Invocation

    init(_ invocation: Invocation) {
        self.invocation = invocation
    }

    func run() async throws -> Int32 {
        let folder = URL(fileURLWithPath: invocation.directory ?? ".", isDirectory: true)
        try await CurlBackgroundAgent.cancelAllTasks(of: BackgroundDownloads.configuration(for: folder))
        return ExitCode.success
    }
}
