import Testing

@testable import CurlNetworking
@testable import CurlTransport

@Suite("Whether a transfer has brought its response")
struct CompletionPolicyTests {
    private func head(_ status: Int = 413, length: String? = nil, coding: String? = nil) -> ResponseHead {
        var head = ResponseHead(version: "HTTP/1.1", status: status, fields: [])
        if let length { head.fields.append(HeaderField(name: "Content-Length", value: length)) }
        if let coding { head.fields.append(HeaderField(name: "Content-Encoding", value: coding)) }
        return head
    }

    private func code(
        _ code: CurlCode?,
        after head: ResponseHead?,
        _ circumstances: CompletionPolicy.Circumstances = .init()
    ) -> CurlCode? {
        let failure = code.map { TransferFailure(code: $0, text: "", phase: .receiving) }
        return CompletionPolicy.failure(failure, after: head, circumstances)?.code
    }

    @Test("A transfer that libcurl calls a success has its response if there is a head")
    func success() {
        #expect(code(nil, after: head()) == nil)
        #expect(code(nil, after: nil) == .gotNothing)
        #expect(code(.recvError, after: nil) == .recvError)
    }

    @Test("A transfer with less than the head says has no response, even if libcurl ignores the length")
    func cutShort() {
        #expect(code(nil, after: head(length: "9"), .init(arrivedCount: 8, ignoresLength: true)) == .partialFile)
        #expect(code(nil, after: head(length: "9"), .init(arrivedCount: 9, ignoresLength: true)) == nil)
        #expect(code(nil, after: head(304, length: "9"), .init(ignoresLength: true)) == nil)
        #expect(code(nil, after: head(length: "9"), .init(endsWithHead: true, ignoresLength: true)) == nil)
        #expect(code(nil, after: head(length: "9"), .init(isWanted: false, ignoresLength: true)) == nil)
        #expect(code(nil, after: head(), .init(ignoresLength: true)) == nil)
    }

    @Test("A transfer has its response if libcurl was kept from sending a refused request again")
    func repeated() {
        #expect(code(.abortedByCallback, after: head(417, length: "9")) == nil)
        #expect(code(.abortedByCallback, after: head(407, length: "9")) == nil)
        #expect(code(.abortedByCallback, after: head(length: "9")) == .http2Stream)
        #expect(code(.abortedByCallback, after: nil) == .abortedByCallback)
    }

    @Test("A transfer has its response if libcurl couldn't rewind the body to send a refused request again")
    func unrepeatable() {
        #expect(code(.sendFailRewind, after: head(417, length: "9")) == nil)
        #expect(code(.sendFailRewind, after: head(length: "9")) == .sendFailRewind)
        #expect(code(.sendFailRewind, after: nil) == .sendFailRewind)
    }

    @Test("A transfer has its response if the server switched protocols and said nothing more")
    func switched() {
        #expect(code(.gotNothing, after: head(101)) == nil)
        #expect(code(.recvError, after: head(101)) == .recvError)
        #expect(code(.gotNothing, after: nil) == .gotNothing)
    }

    @Test("A transfer has its response at the head if nothing else was wanted")
    func unwanted() {
        #expect(code(.partialFile, after: head(length: "9"), .init(isWanted: false)) == nil)
        #expect(code(.writeError, after: head(length: "9"), .init(endsWithHead: true)) == nil)
        #expect(code(.partialFile, after: nil, .init(endsWithHead: true, isWanted: false)) == .partialFile)
    }

    @Test(
        "A transfer has its response if the server stopped reading when it had responded in full",
        arguments: [.sendError, .http2Stream, .partialFile] as [CurlCode]
    )
    func cutOff(_ failure: CurlCode) {
        #expect(code(failure, after: head(length: "9"), .init(arrivedCount: 9)) == nil)
        #expect(code(failure, after: head(length: "9"), .init(arrivedCount: 8)) == failure)
        #expect(code(failure, after: head(), .init(arrivedCount: 9)) == failure)
        #expect(code(failure, after: head(length: "9", coding: "gzip"), .init(arrivedCount: 9)) == nil)
        #expect(code(.recvError, after: head(length: "9"), .init(arrivedCount: 9)) == .recvError)
    }

    @Test("An upload over HTTP/2 has an error response of unknown length if libcurl finds the stream closed")
    func refusedUpload() {
        let failure = TransferFailure(code: .http2Stream, text: CurlCode.http2Stream.text)
        func isComplete(_ head: ResponseHead, _ body: CompletionPolicy.RequestBody) -> Bool {
            CompletionPolicy.failure(failure, after: head, .init(arrivedCount: 0, requestBody: body)) == nil
        }
        var head = head()
        #expect(!isComplete(head, .unsent), "over HTTP/1.1")
        head.version = "HTTP/2"
        #expect(isComplete(head, .unsent) && isComplete(head, .sent))
        #expect(!isComplete(head, .none), "not an upload")
        head.status = 200
        #expect(!isComplete(head, .unsent))
        head.status = 413
        head.fields.append(HeaderField(name: "Content-Length", value: "10"))
        #expect(!isComplete(head, .unsent))
    }

    @Test("A transfer over HTTP/2 has its response if the request's body ended after that")
    func answeredUpload() {
        var head = head()
        head.version = "HTTP/2"
        var circumstances = CompletionPolicy.Circumstances(arrivedCount: 9, requestBody: .sent)
        circumstances.quirks.failsAnsweredUploads = true
        var failure = TransferFailure(code: .sendError, text: "", phase: .receiving)
        #expect(CompletionPolicy.failure(failure, after: head, circumstances) == failure)
        failure.isUnexplainedSendError = true
        #expect(CompletionPolicy.failure(failure, after: head, circumstances) == nil)
        #expect(CompletionPolicy.failure(failure, after: self.head(), circumstances) == failure)
        head.fields.append(HeaderField(name: "Content-Length", value: "10"))
        #expect(CompletionPolicy.failure(failure, after: head, circumstances) == failure)
        head.fields = []
        circumstances.requestBody = .unsent
        #expect(CompletionPolicy.failure(failure, after: head, circumstances) == failure)
        circumstances.requestBody = .sent
        circumstances.quirks.failsAnsweredUploads = false
        #expect(CompletionPolicy.failure(failure, after: head, circumstances) == failure)
    }

    @Test(
        "A transfer has its response if the server stopped reading after one that never has a body",
        arguments: [204, 304]
    )
    func bodiless(status: Int) {
        #expect(code(.sendError, after: head(status)) == nil)
        #expect(code(.sendError, after: head(status, length: "9", coding: "gzip")) == nil)
        #expect(code(.recvError, after: head(status)) == .recvError)
    }
}
