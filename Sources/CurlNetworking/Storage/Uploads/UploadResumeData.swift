import Foundation

/// Everything an upload needs to continue later, in this process or another.
struct UploadResumeData: VersionedResumeData, Equatable, Sendable {
    private(set) var version = Self.currentVersion
    /// The task's own request, without its credentials.
    var request: StoredRequest
    var resource: UploadResource
    /// How much the server is known to have, in bytes.
    var acknowledged: Int64
    /// The most of it that was sent, in bytes.
    var sent: Int64
    /// Of the whole body, in bytes; nil if unknown.
    var length: Int64?
    var body: KeptBody

    static let currentVersion = 2
    static let name = "The upload's resume data"

    /// Room for a body as large as it may be, in Base64, and a request.
    static let limits = UntrustedPropertyList.Limits(bytes: 512 * 1024, containers: 16)

    init(
        request: StoredRequest,
        resource: UploadResource,
        acknowledged: Int64,
        sent: Int64,
        length: Int64?,
        body: KeptBody
    ) {
        self.request = request
        self.resource = UploadResource(url: StoredRequest.withoutCredentials(resource.url), version: resource.version)
        self.acknowledged = acknowledged
        self.sent = sent
        self.length = length
        self.body = body
    }

    var isPlausible: Bool {
        guard [request.url, resource.url].allSatisfy({ Origin($0) != nil && StoredRequest.canName($0) }),
            FieldSyntax.isToken(request.method), UploadResource.mayCreate(request.method), acknowledged >= 0,
            sent >= acknowledged, length.map({ $0 >= sent }) ?? true
        else { return false }
        return body.isPlausible(length: length)
    }

    var destination: UploadDestination { UploadDestination(request: request.url, resource: resource.url) }
}

/// An interrupted upload, ready to be continued by a task.
struct UploadResumption: Sendable {
    let request: URLRequest
    /// nil to start over, because the program's file has changed.
    let resource: UploadResource?
    let acknowledged: Int64
    let sent: Int64
    let length: Int64?
    /// nil if the body is only the program's.
    let kept: Kept?
    let content: KeptBody.Content

    struct Kept: Sendable {
        let body: KeptBody
        let destination: UploadDestination
    }

    /// Finds the body in `directory`, or where a file there says that it is. Throws if it is gone. Blocks for the time that takes.
    init(_ data: UploadResumeData, in directory: URL) throws(URLError) {
        request = data.request.urlRequest
        kept = Kept(body: data.body, destination: data.destination)
        var content = try data.body.content(for: data.destination, in: directory)
        if case .file(let file, _) = content, file.length != data.length { throw KeptBody.gone(request.url) }
        var isUnchanged = true
        if case .programFile(let file) = content {
            guard let now = UploadedFile(file.url) else {
                let details = [NSFilePathErrorKey: file.path]
                throw URLError(
                    .fileDoesNotExist,
                    url: request.url,
                    "The upload's file isn't there any more.",
                    details: details
                )
            }
            isUnchanged = now == file && now.length == data.length
            content = .programFile(now)
        }
        self.content = content
        resource = isUnchanged ? data.resource : nil
        acknowledged = isUnchanged ? data.acknowledged : 0
        sent = isUnchanged ? data.sent : 0
        length = isUnchanged ? data.length : nil
    }

    /// The upload of an unchanged file. How much the server has is not known.
    init(_ request: URLRequest, file: UploadedFile, at resource: UploadResource) {
        self.request = request
        self.resource = resource
        acknowledged = 0
        sent = 0
        length = file.length
        kept = nil
        content = .programFile(file)
    }

    /// The file that must not change while it is sent; nil for other content.
    var file: UploadedFile? {
        switch content {
        case .file(let file, _), .programFile(let file): file
        case .data, .stream: nil
        }
    }

    /// Whether the body was in a private file that is gone: another task with the same resume data has ended with it. Blocks.
    var hasLostBody: Bool {
        if case .file(_, let body) = content { !body.isThere(as: .body) } else { false }
    }

    /// Whether everything that an earlier task kept is still there. Blocks.
    var isKept: Bool {
        guard case .file(let description) = kept?.body else { return true }
        return description.isThere(as: .upload) && !hasLostBody
    }

    /// What an earlier task kept, if that is still valid: for this destination, and for an unchanged `file`.
    func kept(for destination: UploadDestination, _ file: UploadedFile?) -> KeptBody? {
        guard let kept, resource != nil, kept.destination == destination, file == self.file else { return nil }
        return kept.body
    }
}
