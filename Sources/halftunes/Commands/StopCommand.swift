import CurlNetworking
import Foundation

/// `halftunes stop`: cancels everything in the background, as if the user had force-quit the app.
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
