import Foundation

/// Everything a download needs to continue later, in this process or another: the content of the public API's resume data, a versioned
/// property list. Data read back is untrusted.
struct ResumeData: Codable, Equatable, Sendable {
    private(set) var version = Self.currentVersion
    var url: URL
    var method: String
    var headers: [String: String]
    /// In seconds.
    var timeoutInterval: TimeInterval
    /// nil for true, and in older data.
    private var handlesCookies: Bool?
    private var mainDocumentURL: URL?
    /// The protocol classes' properties, as a nested property list.
    private var properties: Data?
    var validator: Resumption.Validator
    /// nil if the server didn't say.
    var completeLength: Int64?
    var partialFile: PartialFile

    private static let currentVersion = 1

    /// In bytes. Our resume data never comes near this size.
    private static let maximumSize = 256 * 1024

    /// The most arrays and dictionaries.
    private static let maximumContainers = 16
    private static let maximumPropertyContainers = 64

    /// `request` is the task's original one; its credentials are left out.
    init(
        request: URLRequest,
        url: URL,
        validator: Resumption.Validator,
        completeLength: Int64?,
        partialFile: PartialFile
    ) {
        self.url = Self.withoutCredentials(url)
        method = request.httpMethod ?? "GET"
        headers = (request.allHTTPHeaderFields ?? [:]).filter { !Self.isOurs($0.key) }
        timeoutInterval = request.timeoutInterval
        handlesCookies = request.httpShouldHandleCookies ? nil : false
        mainDocumentURL = request.mainDocumentURL.map(Self.withoutCredentials)
        properties = RequestProperties.list(of: request).flatMap(Self.harmlessProperties)
        self.validator = validator
        self.completeLength = completeLength
        self.partialFile = partialFile
    }

    /// Fields that are never the request's own here: we either write them or leave them out.
    static func isOurs(_ name: String) -> Bool {
        RequestProperties.isField(name)
            || (["Range", "If-Range"] + credentialFields).contains { $0.isEqualIgnoringASCIICase(to: name) }
    }

    private static let credentialFields = ["Authorization", "Proxy-Authorization", "Cookie", "Cookie2"]

    static func withoutCredentials(_ url: URL) -> URL {
        guard var components = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return url }
        components.user = nil
        components.password = nil
        return components.url ?? url
    }

    var request: URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.timeoutInterval = timeoutInterval
        request.httpShouldHandleCookies = handlesCookies ?? true
        request.mainDocumentURL = mainDocumentURL
        for (name, value) in headers where !Self.isOurs(name) { request.setValue(value, forHTTPHeaderField: name) }
        if let list = properties.flatMap(Self.harmlessProperties) { RequestProperties.setList(list, in: &request) }
        return request
    }

    static func harmlessProperties(_ list: Data) -> Data? {
        isHarmless(list, containers: maximumPropertyContainers) ? list : nil
    }

    /// - Parameter offset: The partial file's length in bytes, which may have grown since it was described.
    func resumption(from offset: Int64) -> Resumption {
        Resumption(offset: offset, validator: validator, completeLength: completeLength)
    }

    /// Whether resume data may lead to `url`: an http, https, ftp or ftps URL with a host. An attacker may have written it to reach this
    /// machine's files or sockets.
    static func canName(_ url: URL) -> Bool {
        (Origin(url) ?? Origin.ofFTP(url)).map { !$0.isUnixSocket } ?? false
    }

    // MARK: - To bytes and back

    func encoded() -> Data? {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        guard let data = try? encoder.encode(self), data.count <= Self.maximumSize else { return nil }
        return data
    }

    /// Throws unless `data` is our resume data, of this version, and plausible.
    init(decoding data: Data) throws(URLError) {
        guard Self.isHarmless(data, containers: Self.maximumContainers),
            let decoded = try? PropertyListDecoder().decode(Self.self, from: data)
        else { throw Self.invalid("The resume data can't be read.") }
        guard decoded.version == Self.currentVersion else {
            throw Self.invalid("The resume data's version \(decoded.version) is not supported.")
        }
        guard Self.canName(decoded.url), decoded.method == "GET",
            decoded.partialFile.length >= 0,
            decoded.completeLength.map({ $0 >= decoded.partialFile.length }) ?? true,
            !decoded.validator.fieldValue.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f })
        else { throw Self.invalid("The resume data makes no sense.") }
        self = decoded
    }

    private static func isHarmless(_ data: Data, containers maximum: Int) -> Bool {
        data.count <= maximumSize && UntrustedPropertyList.isHarmless(data, containers: maximum)
    }

    // MARK: - To another directory

    /// The same data for a partial file that is moved to `directory`; nil where it is no resume data of ours, or the file is gone. Blocks; copies
    /// the file where `directory` is on another file system.
    static func moved(_ data: Data, to directory: URL) -> Data? {
        guard var resumeData = try? ResumeData(decoding: data) else { return nil }
        let old = URL(fileURLWithPath: resumeData.partialFile.directory, isDirectory: true)
        if old.standardizedFileURL.path == directory.standardizedFileURL.path { return data }
        guard let partial = resumeData.partialFile.moved(from: old, to: directory) else { return nil }
        resumeData.partialFile = partial
        return resumeData.encoded()
    }

    private static func invalid(_ description: String) -> URLError {
        URLError(.unsupportedURL, nil, description)
    }
}
