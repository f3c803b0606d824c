import CCurlNetworkingLibcurl

/// An option of the linked libcurl, found in libcurl's own table.
/// https://curl.se/libcurl/c/curl_easy_option_by_name.html
package struct NamedOption: Sendable {
    package enum Kind: Sendable, Hashable {
        case number, largeNumber, string, list, blob
        /// A C pointer: a function, an object, or a function's context.
        case pointer
    }

    /// Without "CURLOPT_", in upper case; for an option with aliases, the proper name.
    package let name: String
    package let kind: Kind
    let option: CURLoption

    /// nil if this libcurl has no such option. Case-insensitive.
    package init?(_ name: String) {
        guard let found = curl_easy_option_by_name(name), let entry = curl_easy_option_by_id(found.pointee.id) else {
            return nil
        }
        self.init(entry.pointee)
    }

    private init(_ entry: curl_easyoption) {
        name = String(cString: entry.name)
        option = entry.id
        kind =
            switch entry.type {
            case CURLOT_LONG, CURLOT_VALUES: .number
            case CURLOT_OFF_T: .largeNumber
            case CURLOT_STRING: .string
            case CURLOT_SLIST: .list
            case CURLOT_BLOB: .blob
            default: .pointer
            }
    }

    private static let proxyPrefix = "PROXY_"

    /// For an option about TLS, whom that is with. Those for the proxy are named after those for the server.
    var peer: TLSPeer { name.hasPrefix(Self.proxyPrefix) ? .proxy : .server }

    /// The name of the same option for the server.
    var nameForServer: Substring { peer == .proxy ? name.dropFirst(Self.proxyPrefix.count) : name[...] }

    /// Whether it names trusted authorities, which a `TrustStore` would override.
    var namesAuthorities: Bool { ["CAINFO", "CAINFO_BLOB", "CAPATH"].contains(nameForServer) }

    var limitsRate: Bool { option == CURLOPT_MAX_RECV_SPEED_LARGE || option == CURLOPT_MAX_SEND_SPEED_LARGE }

    var limitsTime: Bool { option == CURLOPT_TIMEOUT || option == CURLOPT_TIMEOUT_MS }

    /// Every option of this libcurl, without aliases.
    package static var all: [NamedOption] {
        var options: [NamedOption] = []
        var entry = curl_easy_option_next(nil)
        while let current = entry {
            if current.pointee.flags & UInt32(CURLOT_FLAG_ALIAS) == 0 { options.append(NamedOption(current.pointee)) }
            entry = curl_easy_option_next(current)
        }
        return options
    }
}

/// Sets options by name. The caller has checked that the value is of the option's kind.
extension EasyHandle {
    package func set(_ option: NamedOption, number: Int) throws(TransferFailure) {
        // libcurl's own decoding can't be interrupted within a body, and stays off.
        if option.name == "HTTP_CONTENT_DECODING" { return decodesContent = number != 0 }
        if option.limitsRate {
            maximumRates.set(option, to: number)
            http2Input.isLimited = !maximumRates.isEmpty
        }
        if option.limitsTime { traits.hasTimeLimit = number > 0 }
        // A resumed session was verified earlier, so the delegate wouldn't be asked.
        if option.name == "SSL_SESSIONID_CACHE", tls.inquiry != nil { return }
        switch option.kind {
        case .largeNumber: try set(option.option, offset: Int64(number))
        default: try set(option.option, number)
        }
        if option.nameForServer == "SSL_OPTIONS", number & Int(CURLSSLOPT_NO_PARTIALCHAIN) != 0 {
            tls.changeTrust(in: option.peer) { $0.acceptsIntermediates = false }
        }
        if option.name == "USE_SSL", number != 0 { tls.hasSecureServer = true }
        if option.name == "SSL_VERIFYSTATUS", number != 0 { tls.changeTrust(in: .server) { $0.verifiesStatus = true } }
    }

    /// nil resets the option.
    package func set(_ option: NamedOption, string: String?) throws(TransferFailure) {
        if option.namesAuthorities { try removeTrust(in: option.peer) }
        if option.nameForServer == "CAINFO" { try allowAuthorityFile(for: option.peer) }
        if let string { try set(option.option, string) } else { try clear(option.option) }
        if option.nameForServer == "CRLFILE", let string {
            tls.changeTrust(in: option.peer) { $0.revocationLists.append(string) }
        }
        if option.name == "ACCEPT_ENCODING" { decodesContent = string != nil }
    }

    package func set(_ option: NamedOption, list: [String]) throws(TransferFailure) {
        try set(option.option, list: list)
    }

    /// libcurl keeps a copy of the bytes.
    package func set(_ option: NamedOption, blob: UnsafeRawBufferPointer) throws(TransferFailure) {
        if option.namesAuthorities { try removeTrust(in: option.peer) }
        try check(clibcurl_easy_set_blob(handle, option.option, blob.baseAddress, blob.count))
    }
}
