import CurlTransport

/// The libcurl options that a program may not set on a transfer, because the session relies on its own values. The documentation's page on
/// escape hatches lists them too; a test compares the two.
enum ReservedOptions {
    /// The options, grouped by reason.
    static let groups: [(reason: String, names: [String])] = [
        (
            "The request says where to and what is sent.",
            words(
                """
                URL PORT DEFAULT_PROTOCOL PROTOCOLS PROTOCOLS_STR HTTPGET POST PUT UPLOAD NOBODY CUSTOMREQUEST HTTPHEADER HEADEROPT
                PROXYHEADER USERAGENT POSTFIELDSIZE POSTFIELDSIZE_LARGE INFILESIZE INFILESIZE_LARGE RANGE RESUME_FROM RESUME_FROM_LARGE
                TIMECONDITION WILDCARDMATCH HEADER CONNECT_ONLY RTSP_REQUEST
                """
            )
        ),
        (
            "The session follows redirects itself; the delegate decides about them.",
            words(
                "FOLLOWLOCATION MAXREDIRS POSTREDIR AUTOREFERER UNRESTRICTED_AUTH REDIR_PROTOCOLS REDIR_PROTOCOLS_STR"
            )
        ),
        (
            "The session chooses the way to a host, and who may see credentials on it: curl.proxy, curl.names and curl.hosts[…].",
            words(
                """
                PROXY PROXYPORT PROXYTYPE NOPROXY HTTPPROXYTUNNEL CONNECT_TO UNIX_SOCKET_PATH ABSTRACT_UNIX_SOCKET RESOLVE
                DOH_URL DOH_SSL_VERIFYPEER DOH_SSL_VERIFYHOST
                """
            )
        ),
        ("The session knows itself which hosts want https: curl.strictTransportSecurity.", words("HSTS HSTS_CTRL")),
        (
            "The session has cookies of its own: httpCookieStorage.",
            words("COOKIE COOKIEFILE COOKIEJAR COOKIELIST COOKIESESSION")
        ),
        (
            "The session answers challenges itself: give a credential to the delegate or the storage.",
            words("HTTPAUTH PROXYAUTH USERPWD USERNAME PASSWORD XOAUTH2_BEARER NETRC NETRC_FILE")
        ),
        ("This module makes Kerberos tokens itself.", words("GSSAPI_DELEGATION SERVICE_NAME")),
        (
            "The session must know which servers are not verified: curl.hosts[…].trustsAnyCertificate.",
            words("SSL_VERIFYPEER SSL_VERIFYHOST")
        ),
        (
            "The session must know which keys it trusts before it takes stored responses: curl.hosts[…].publicKeyPins.",
            words("PINNEDPUBLICKEY")
        ),
        (
            "The session must know which servers may see a client certificate: curl.tls.identity.",
            words("SSLCERT SSLCERT_BLOB SSLCERTTYPE SSLKEY SSLKEY_BLOB SSLKEYTYPE KEYPASSWD")
        ),
        (
            "This module reads heads and transfer codings itself.",
            words("HTTP09_ALLOWED HTTP200ALIASES TRANSFER_ENCODING")
        ),
        ("The event loop relies on it.", words("NOSIGNAL NOPROGRESS SUPPRESS_CONNECT_HEADERS QUICK_EXIT VERBOSE")),
    ]

    private static func words(_ text: String) -> [String] {
        text.split(whereSeparator: \.isWhitespace).map(String.init)
    }

    private static let reasons = Dictionary(
        uniqueKeysWithValues: groups.flatMap { group in group.names.map { ($0, group.reason) } }
    )

    /// nil for an option that may be set.
    /// - Parameter onlyConnects: Whether libcurl only makes the connection, and this module speaks on it.
    static func reason(for option: NamedOption, onlyConnects: Bool = false) -> String? {
        if let reason = reasons[option.name] { return reason }
        if option.kind == .pointer { return "It takes a C pointer, which the session keeps to itself." }
        return onlyConnects && !option.mayBeSetForChannel ? effectless : nil
    }

    private static let effectless = """
        libcurl only makes the connections of web sockets, upgrades and stream tasks, on which this option has no effect. Use the \
        request's URL and fields, and the time-outs of the configuration; see CurlTransfer.onlyConnects.
        """

    static func description(of kind: NamedOption.Kind) -> String {
        switch kind {
        case .number, .largeNumber: "a number"
        case .string: "a text"
        case .list: "a list of texts"
        case .blob: "bytes"
        case .pointer: "a C pointer"
        }
    }
}
