import CCurlNetworkingLibcurl

/// User name and password in the form that libcurl needs for NTLM: it makes one UTF-16 unit of each byte, which is right for ISO 8859-1 and
/// wrong for UTF-8.
struct NTLMCredentials {
    let user: [UInt8]
    let password: [UInt8]

    /// Throws `loginDenied` if libcurl can't express them.
    init(user: String, password: String) throws(TransferFailure) {
        // What precedes the separator is the domain.
        let separator = user.firstIndex(of: "\\") ?? user.firstIndex(of: "/")
        let nameStart = separator.map(user.index(after:)) ?? user.startIndex
        guard let domain = Self.bytes(user[..<nameStart]), let name = Self.bytes(user[nameStart...], of: Self.capital),
            let password = Self.bytes(password[...])
        else {
            let text = "By NTLM, libcurl can only send names and passwords with characters of ISO 8859-1."
            throw TransferFailure(code: .loginDenied, text: text)
        }
        (self.user, self.password) = (domain + name, password)
    }

    func apply(to easy: EasyHandle, user: CURLoption, password: CURLoption) throws(TransferFailure) {
        try Self.set(user, self.user, on: easy)
        try Self.set(password, self.password, on: easy)
    }

    private static func set(_ option: CURLoption, _ bytes: [UInt8], on easy: EasyHandle) throws(TransferFailure) {
        let text = bytes.map { CChar(bitPattern: $0) } + [0]
        try easy.check(text.withUnsafeBufferPointer { clibcurl_easy_set_string(easy.handle, option, $0.baseAddress) })
    }

    private static func bytes(_ text: Substring, of form: (UInt8) -> UInt8? = { $0 }) -> [UInt8]? {
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars {
            guard let byte = UInt8(exactly: scalar.value).flatMap(form) else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    /// The proof of the password contains the name in capitals (MS-NLMP §3.3.2), and libcurl knows only those of ASCII. nil for letters whose
    /// capital isn't in ISO 8859-1.
    private static func capital(_ byte: UInt8) -> UInt8? {
        switch byte {
        // µ and ÿ
        case 0xb5, 0xff: nil
        // ÷ isn't a letter.
        case 0xf7: byte
        case 0xe0...0xfe: byte - 0x20
        default: byte
        }
    }
}
