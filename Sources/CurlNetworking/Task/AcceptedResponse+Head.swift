import Foundation

extension AcceptedResponse {
    /// A server's response, with its body placed according to `placement`.
    init(_ received: ReceivedHead, _ placement: HeadVerdict.Placement) throws(URLError) {
        let head = placement.head ?? received.head
        self.init(
            response: try head.shownResponse(to: received.request),
            head: head,
            request: received.request,
            offset: placement.offset,
            expected: placement.expected ?? head.expectedLength(to: received.request),
            storagePolicy: received.effect == .connection ? .allowed : .notAllowed
        )
    }

    /// A response without a server's head.
    init(_ response: URLResponse, to request: URLRequest?, expected: Int64, storagePolicy: URLCache.StoragePolicy) {
        self.init(
            response: TaskResponse(response),
            head: nil,
            request: request,
            expected: expected,
            storagePolicy: storagePolicy
        )
    }
}

extension ResponseHead {
    /// The length of the body that follows the head, in decoded bytes; `NSURLSessionTransferSizeUnknown` if unknown.
    fileprivate func expectedLength(to request: URLRequest) -> Int64 {
        if request.httpMethod == "HEAD" || status == 204 || status == 304 { return 0 }
        return isContentCoded ? NSURLSessionTransferSizeUnknown : contentLength ?? NSURLSessionTransferSizeUnknown
    }

    /// The response as the task shows it: FTP has no status and no fields.
    fileprivate func shownResponse(to request: URLRequest) throws(URLError) -> TaskResponse {
        guard let url = request.url else { throw .senselessHead(nil) }
        guard isOfFTP else { return TaskResponse(self, at: url) }
        let response = URLResponse(
            url: url,
            mimeType: MIMEType.guess(forFTP: url),
            expectedContentLength: Int(contentLength ?? NSURLSessionTransferSizeUnknown),
            textEncodingName: nil
        )
        return TaskResponse(response)
    }
}
