import Foundation

/// What background sessions can do, as on Apple's platforms: everything else is refused with an error that says so.
enum BackgroundRules {
    /// What is wrong with a session; nil if nothing is.
    static func fault(of configuration: URLSessionConfiguration, hasDelegate: Bool) -> String? {
        if !hasDelegate { return "A background session needs a delegate." }
        if configuration.identifier?.isEmpty != false { return "A background session needs an identifier." }
        if configuration.curl.configureTransfer != nil {
            return "curl.configureTransfer can't be sent to a background agent."
        }
        if configuration.curl.trace != nil { return "curl.trace can't be sent to a background agent." }
        if configuration.protocolClasses?.isEmpty == false {
            return "Protocol classes can't be sent to a background agent."
        }
        if let proxies = configuration.connectionProxyDictionary, SessionDescription.proxies(proxies) == nil {
            return "A connectionProxyDictionary that a property list can't hold can't be sent to a background agent."
        }
        return nil
    }

    /// The error of tasks of a kind that an agent can't do.
    static func refusal(of kind: String, _ url: URL?) -> URLError {
        URLError(.unknown, url: url, "\(kind) are not supported in background sessions.")
    }

    /// The kind of a task. Throws if a background session can't do it.
    static func kind(
        _ request: URLRequest,
        _ consumer: Consumer,
        _ body: TaskBody.Source
    ) throws(URLError) -> TaskSubmission.Kind {
        let url = request.url
        func refusal(_ text: String, _ code: URLError.Code = .unknown) -> URLError { URLError(code, url: url, text) }
        if consumer.isHandler {
            throw refusal("Completion handlers are not supported in background sessions: use the delegate.")
        }
        if consumer.isAsync {
            throw refusal("Async calls are not supported in background sessions: use tasks and the delegate.")
        }
        guard let url, let scheme = Scheme(url), scheme == .http || scheme == .https else {
            throw refusal("Background sessions load http and https URLs only.", .unsupportedURL)
        }
        if request.httpBodyStream != nil {
            throw refusal("A body stream can't be sent to a background agent: use a file.")
        }
        switch (consumer, body) {
        case (.downloadDelegate, _):
            return .download
        case (_, .file(let file)):
            return .upload(try upload(of: file, for: url))
        case (_, .data), (_, .stream):
            throw refusal("Background sessions upload from files only.")
        case (_, .request):
            throw refusal("Data tasks are not supported in background sessions: use download tasks.")
        }
    }

    /// The file of a new upload. Throws the error that an upload in any other session would fail with, as far as that can be told.
    private static func upload(of url: URL, for requestURL: URL) throws(URLError) -> UploadFile {
        if let refusal = ReadableFile.refusal(of: url, for: requestURL) { throw refusal }
        let file: UploadFile
        do throws(FileFault) {
            file = try UploadFile(url)
        } catch {
            throw ReadableFile.error(error, url.path, for: requestURL)
        }
        // Only reading shows whether the file is empty.
        if file.length == 0 { _ = try ReadableFile(url, for: requestURL) }
        return file
    }
}
