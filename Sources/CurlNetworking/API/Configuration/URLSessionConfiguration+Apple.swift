import Foundation

/// The SSL and TLS versions, with the names and raw values of Apple's older API.
///
/// Source: <https://developer.apple.com/documentation/security/sslprotocol>
public enum SSLProtocol: Int32, Sendable {
    /// The default.
    case sslProtocolUnknown = 0
    /// TLS 1.0.
    case tlsProtocol1 = 4
    /// TLS 1.1.
    case tlsProtocol11 = 7
    /// TLS 1.2.
    case tlsProtocol12 = 8
    /// DTLS 1.0, which sessions don't support.
    case dtlsProtocol1 = 9
    /// TLS 1.3.
    case tlsProtocol13 = 10
    /// DTLS 1.2, which sessions don't support.
    case dtlsProtocol12 = 11
    /// The newest version.
    case tlsProtocolMaxSupported = 999
    /// SSL 2.0, which sessions don't support.
    case sslProtocol2 = 1
    /// SSL 3.0, which sessions don't support.
    case sslProtocol3 = 2
    /// SSL 3.0 only.
    case sslProtocol3Only = 3
    /// TLS 1.0 only.
    case tlsProtocol1Only = 5
    /// Every version.
    case sslProtocolAll = 6
}

extension SSLProtocol {
    fileprivate init(_ version: tls_protocol_version_t) {
        switch version {
        case .TLSv10: self = .tlsProtocol1
        case .TLSv11: self = .tlsProtocol11
        case .TLSv12: self = .tlsProtocol12
        case .TLSv13: self = .tlsProtocol13
        case .DTLSv10: self = .dtlsProtocol1
        case .DTLSv12: self = .dtlsProtocol12
        }
    }

    /// nil for the session's default.
    fileprivate var version: tls_protocol_version_t? {
        switch self {
        case .sslProtocolUnknown, .sslProtocolAll: nil
        case .sslProtocol2, .sslProtocol3, .sslProtocol3Only, .tlsProtocol1, .tlsProtocol1Only: .TLSv10
        case .tlsProtocol11: .TLSv11
        case .tlsProtocol12: .TLSv12
        case .tlsProtocol13, .tlsProtocolMaxSupported: .TLSv13
        case .dtlsProtocol1: .DTLSv10
        case .dtlsProtocol12: .DTLSv12
        }
    }
}

extension URLSessionConfiguration {
    /// The older name of ``tlsMinimumSupportedProtocolVersion``, which it reads and sets. Versions before TLS 1.0 count as TLS 1.0.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/tlsminimumsupportedprotocol>
    @available(*, deprecated, renamed: "tlsMinimumSupportedProtocolVersion")
    public var tlsMinimumSupportedProtocol: SSLProtocol {
        get { SSLProtocol(tlsMinimumSupportedProtocolVersion) }
        set {
            guard let version = newValue.version else { return chosenMinimumTLSVersion = nil }
            tlsMinimumSupportedProtocolVersion = version
        }
    }

    /// The older name of ``tlsMaximumSupportedProtocolVersion``, which it reads and sets. Versions before TLS 1.0 count as TLS 1.0.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/tlsmaximumsupportedprotocol>
    @available(*, deprecated, renamed: "tlsMaximumSupportedProtocolVersion")
    public var tlsMaximumSupportedProtocol: SSLProtocol {
        get { SSLProtocol(tlsMaximumSupportedProtocolVersion) }
        set { tlsMaximumSupportedProtocolVersion = newValue.version ?? TLSPlan.defaultMaximum }
    }

    /// The uses of several networks.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlsessionconfiguration/multipathservicetype-swift.enum>
    public enum MultipathServiceType: Int, Sendable {
        /// Connections use one network.
        case none
        /// Connections switch networks when one deteriorates.
        case handover
        /// Connections use whichever network responds sooner.
        case interactive
        /// Connections use all networks at once.
        case aggregate
    }
}
