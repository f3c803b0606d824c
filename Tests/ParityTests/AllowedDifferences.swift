/// Where the public interface may differ from the stock module's, and why.
enum AllowedDifferences {
    /// By path; what ends in "*" covers everything that begins like it.
    static let reasons: [String: String] = [
        "URLSessionWebSocketTask.cancel()": inherited,
        "URLSessionWebSocketTask.resume()": inherited,
        "URLSessionWebSocketTask.error": inherited,
        "NSURLSessionTransferSizeUnknown": reexported,
        "URLSessionDownloadTaskResumeData": reexported,
        "URLSessionConfiguration.identifier":
            "read-only, as Apple's: a background session gets its name when it is made",
        "URLSessionConfiguration.sharedContainerIdentifier": "can be set, as Apple's",
        "URLProtocol.registerClass(_:)": "its result may go unused, as with Apple's",
        "URLSessionDownloadTask.cancel(byProducingResumeData:)":
            "its handler is @Sendable, as Apple's, since it is called on another thread",
        "URLSession.ResponseDisposition.becomeDownload": "deprecated there because it doesn't work; here it does",
        "URLSessionTask.earliestBeginDate": "deprecated there because it has no effect; here it has one",
        "URLSessionTask.countOfBytesExpectedToReceive": setter,
        "URLSessionTask.countOfBytesExpectedToSend": setter,
        "URLSessionTask.countOfBytesReceived": setter,
        "URLSessionTask.countOfBytesSent": setter,
        "URLSessionTask.currentRequest": setter,
        "URLSessionTask.response": setter,
        "URLSessionTask.state": setter,
    ]

    private static let reexported = "the stock module's own, exported again: a second one would make the name ambiguous"
    private static let inherited = "overridden there, and inherited here"
    private static let setter = "the stock module's setter is internal; its symbol graph shows it all the same"

    /// The entry that covers the symbol.
    static func entry(for symbol: SymbolGraph.Symbol) -> String? {
        if reasons[symbol.path] != nil { return symbol.path }
        return reasons.keys.first { entry in
            entry.hasSuffix("*") && symbol.path.hasPrefix(entry.dropLast())
        }
    }

    /// Whether a conformance is one of a type that isn't there.
    static func covers(_ conformance: String) -> Bool {
        entry(for: SymbolGraph.Symbol(path: conformance, declaration: "")) != nil
    }
}
