import CurlTransport
import Foundation

/// An invalid option, with which no session can be created.
public struct CurlOptionsError: LocalizedError, CustomStringConvertible, Sendable, Equatable {
    /// The option's name, as written after `configuration.curl.`.
    public let option: String
    /// The fault in the option's value, or the kind of libcurl that it needs and the one that is linked.
    public let reason: String

    init(_ option: String, _ reason: String) {
        self.option = option
        self.reason = reason
    }

    init(_ option: String, needs version: CurlVersion) {
        self.init(option, "It needs libcurl \(version) or newer; \(CurlLibrary.versionText) is linked.")
    }

    init(_ option: String, lacking feature: String) {
        let need = "It needs a libcurl that was built with \(feature)"
        self.init(option, "\(need), and the linked \(CurlLibrary.versionText) was not.")
    }

    /// The option and the reason on one line.
    public var description: String { "curl.\(option): \(reason)" }

    /// The same as ``description``; also the `localizedDescription`.
    public var errorDescription: String? { description }
}

extension CurlOptions {
    /// Throws an error for the first option that is invalid or that the linked libcurl lacks. Creating a session with such options traps.
    public func validate() throws(CurlOptionsError) {
        guard temporaryDirectory.isFileURL else {
            let problem = "\(temporaryDirectory.absoluteString) isn't the URL of a folder."
            throw CurlOptionsError("temporaryDirectory", problem)
        }
        try names.validate()
        try validateConnections()
        try tls.validate(as: "tls")
        try proxy.validate(as: "proxy")
        try strictTransportSecurity.validate()
        try webSockets.validate(as: "webSockets")
        try background.validate()
        if let uploadInteropVersion, UploadVersion(rawValue: uploadInteropVersion) == nil {
            throw CurlOptionsError("uploadInteropVersion", "It must be 3 to 8.")
        }
        for pattern in hosts.patterns.sorted() {
            guard let matched = HostPattern(pattern) else {
                throw CurlOptionsError("hosts[\"\(pattern)\"]", "This isn't a host, host and port, or host pattern.")
            }
            try hosts[pattern].validate(as: "hosts[\"\(pattern)\"]")
            try hosts[pattern].names.validate(as: "hosts[\"\(pattern)\"].names", of: matched)
        }
    }
}

extension CurlOptions.HostOptions {
    fileprivate func validate(as name: String) throws(CurlOptionsError) {
        if let maximumConnections, maximumConnections < 1 {
            throw CurlOptionsError("\(name).maximumConnections", "There must be at least 1.")
        }
        try httpVersion?.validate(as: "\(name).httpVersion")
        try connections.validate(as: "\(name).connections")
        try validateTLS(as: name)
        try proxy?.validate(as: "\(name).proxy")
    }
}
