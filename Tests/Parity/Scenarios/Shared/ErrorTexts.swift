import Foundation
import CurlNetworkingLoopbackServer
import CurlNetworkingParityStage

/// What programs show to people, and compare with.
let errorTexts = Topic("errors' texts") {
    Scenario("a cancelled task's") { stage in
        let server = try stage.serve { _ in .never }
        let gate = Gate()
        let task = stage.session().dataTask(with: server.url("/")) { _, _, error in
            stage.noteText(of: error)
            gate.open()
        }
        task.resume()
        _ = try await server.requestHead(number: 1)
        task.cancel()
        try await gate.wait()
    }
    Scenario("too many redirects'") { stage in
        // How many are followed differs, and is not what this is about.
        let server = try stage.serve(isLogged: false) { _ in .redirect(to: "/") }
        await stage.noteText { stage.session().dataTask(with: server.url("/"), completionHandler: $0) }
    }
    Scenario("a missing URL's") { stage in
        var request = URLRequest(url: try stage.url("http://127.0.0.1/"))
        request.url = nil
        let session = stage.session()
        await withCheckedContinuation { continuation in
            session.dataTask(with: request) { _, _, error in
                stage.note("error", Describe.error(error))
                continuation.resume()
            }.resume()
        }
    }
    Scenario("that of resume data that is none") { stage in
        let session = stage.session()
        await withCheckedContinuation { continuation in
            session.downloadTask(withResumeData: Data("none".utf8)) { _, _, error in
                stage.note("error", Describe.error(error))
                continuation.resume()
            }.resume()
        }
    }
}

extension Stage {
    fileprivate func noteText(of error: (any Error)?) {
        note("error", ["text": error?.localizedDescription ?? "none"])
    }

    /// Runs the task, and notes what its error says.
    fileprivate func noteText(
        _ make: (@escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void) -> URLSessionTask
    ) async {
        await withCheckedContinuation { continuation in
            make { _, _, error in
                self.noteText(of: error)
                continuation.resume()
            }.resume()
        }
    }
}
