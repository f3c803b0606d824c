import CCurlNetworkingLibcurl
import CCurlNetworkingLinux
import Glibc

/// The libcurl linked into this process: its initialisation, version and features.
package enum CurlLibrary {
    /// Initialises libcurl at most once per process; `curl_global_cleanup` is never called.
    ///
    /// Any thread. The stock FoundationNetworking may initialise the same library; libcurl counts the calls.
    package static func initialize() {
        _ = initialized
    }

    /// False if libcurl could not be initialised (out of memory).
    private static let initialized: Bool = {
        keepOpenSSLAtExit()
        forgetUntrustedVariables()
        let succeeded = CurlMemory.initializeCurl() == CURLE_OK
        // If the program had OpenSSL register an exit handler before us, this one still runs first, having been registered last: the loops
        // stop before OpenSSL frees what they use.
        atexit {
            for group in EventLoopGroup.all { group.stopForProcessExit() }
        }
        return succeeded
    }()

    /// Keeps OpenSSL, if this libcurl uses it, from cleaning up when the process exits: a loop may be inside OpenSSL at that moment,
    /// perhaps for the first time. Has no effect if the program has already initialised OpenSSL.
    /// https://docs.openssl.org/3.0/man3/OPENSSL_init_crypto/
    private static func keepOpenSSLAtExit() {
        typealias Initialize = @convention(c) (UInt64, UnsafeRawPointer?) -> Int32
        let noExitHandler: UInt64 = 0x0008_0000  // OPENSSL_INIT_NO_ATEXIT
        guard let function = dlsym(nil, "OPENSSL_init_crypto") else { return }
        _ = unsafeBitCast(function, to: Initialize.self)(noExitHandler, nil)
    }

    /// Removes variables that libcurl would obey even in a process with more rights than its user: it appends TLS keys to the file that
    /// `SSLKEYLOGFILE` names, and reaches a DNS server over HTTPS through the others' proxy. No option keeps it from that.
    private static func forgetUntrustedVariables() {
        let names = [
            "SSLKEYLOGFILE", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
        ]
        for name in names where getenv(name) != nil && secure_getenv(name) == nil { unsetenv(name) }
    }

    /// Ignores SIGPIPE if the process still has the default action, which would kill it: with `CURLOPT_NOSIGNAL` libcurl leaves SIGPIPE to
    /// the application. Any thread.
    package static func ignoreBrokenPipeSignal() {
        _ = brokenPipeIgnored
    }

    private static let brokenPipeIgnored: Bool = {
        var current = sigaction()
        // The default action is a null handler; any other was chosen on purpose and isn't ours to change.
        guard sigaction(SIGPIPE, nil, &current) == 0,
            unsafeBitCast(current.__sigaction_handler.sa_handler, to: Int.self) == 0
        else { return false }
        _ = signal(SIGPIPE, SIG_IGN)
        return true
    }()

    package static let version = CurlVersion(number: clibcurl_version_info().pointee.version_num)

    /// As libcurl writes it, possibly with a suffix: "8.15.0-DEV".
    package static let versionText = String(cString: clibcurl_version_info().pointee.version)

    package static let hasHTTP2 = clibcurl_version_info().pointee.features & CURL_VERSION_HTTP2 != 0

    package static let hasHTTP3 = clibcurl_version_info().pointee.features & CURL_VERSION_HTTP3 != 0

    /// Whether it reports when a connection is established.
    package static let reportsConnections = version >= CurlVersion(7, 80)

    /// Whether it can end a transfer without waiting for a name lookup in progress.
    static let hasQuickExit = version >= CurlVersion(7, 87)

    /// Whether it caches parsed certificates between connections, and can be told not to.
    static let hasCACache = version >= CurlVersion(7, 87)

    /// Whether it records when a request's last byte was sent.
    static let reportsRequestSent = version >= CurlVersion(8, 10)

    package static let hasNTLM = clibcurl_version_info().pointee.features & CURL_VERSION_NTLM != 0

    package static let hasUnixSockets = clibcurl_version_info().pointee.features & CURL_VERSION_UNIX_SOCKETS != 0

    /// Whether it resolves names with c-ares, which lets the application choose the name servers.
    package static let hasCAres = clibcurl_version_info().pointee.ares != nil

    package static let hasDNSOverHTTPS: Bool = {
        initialize()
        guard let easy = curl_easy_init() else { return false }
        defer { curl_easy_cleanup(easy) }
        return clibcurl_easy_set_string(easy, CURLOPT_DOH_URL, "https://localhost/") == CURLE_OK
    }()

    /// The address that this libcurl parses `host` as, if it looks numeric: since 7.77, "127.1", "0x7f.1" and "2130706433" all mean
    /// 127.0.0.1. Other hosts are returned unchanged.
    package static func numericHost(_ host: String) -> String {
        let isNumeric = host.utf8.first.map { (0x30...0x39).contains($0) } ?? false
        guard isNumeric, host.allSatisfy({ $0.isHexDigit || ".xX".contains($0) }), let url = curl_url() else {
            return host
        }
        defer { curl_url_cleanup(url) }
        var part: UnsafeMutablePointer<CChar>?
        guard curl_url_set(url, CURLUPART_URL, "http://\(host)/", 0) == CURLUE_OK,
            curl_url_get(url, CURLUPART_HOST, &part, 0) == CURLUE_OK, let part
        else { return host }
        defer { curl_free(part) }
        return String(cString: part)
    }

    /// Whether it can speak TLS to a proxy.
    package static let hasHTTPSProxy = clibcurl_version_info().pointee.features & CURL_VERSION_HTTPS_PROXY != 0

    /// Whether it was built with a CA file, and the file exists: then its CA directory is redundant.
    static let hasCAFile: Bool = {
        guard let path = clibcurl_version_info().pointee.cainfo else { return false }
        return access(path, R_OK) == 0
    }()
}
