import CCurlNetworkingLibcurl

/// Sets one libcurl option at a time. Throws libcurl's code if it refuses.
extension EasyHandle {
    func set(_ option: CURLoption, _ value: Bool) throws(TransferFailure) {
        try check(clibcurl_easy_set_long(handle, option, value ? 1 : 0))
    }

    func set(_ option: CURLoption, _ value: Int) throws(TransferFailure) {
        try check(clibcurl_easy_set_long(handle, option, value))
    }

    func set(_ option: CURLoption, offset value: Int64) throws(TransferFailure) {
        try check(clibcurl_easy_set_offset(handle, option, curl_off_t(value)))
    }

    /// libcurl keeps a copy of the string.
    func set(_ option: CURLoption, _ value: String) throws(TransferFailure) {
        try check(value.withCString { clibcurl_easy_set_string(handle, option, $0) })
    }

    /// Resets a string option.
    func clear(_ option: CURLoption) throws(TransferFailure) {
        try check(clibcurl_easy_set_string(handle, option, nil))
    }

    func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer) throws(TransferFailure) {
        try check(clibcurl_easy_set_pointer(handle, option, value))
    }

    /// libcurl keeps a copy of the bytes.
    func set(_ option: CURLoption, _ bytes: [UInt8]) throws(TransferFailure) {
        try check(bytes.withUnsafeBytes { clibcurl_easy_set_blob(handle, option, $0.baseAddress, $0.count) })
    }

    func check(_ code: CURLcode) throws(TransferFailure) {
        guard code != CURLE_OK else { return }
        throw TransferFailure(TransferResult(code: code), of: self)
    }
}
