import CCurlNetworkingLibcurl
import Glibc

/// How a transfer ended, according to libcurl, or to the multi if libcurl can't continue it.
struct TransferResult {
    let code: CURLcode
    /// The system's errno if it isn't libcurl that reports it; 0 if there is none.
    let systemErrno: Int32

    init(code: CURLcode, systemErrno: Int32 = 0) {
        self.code = code
        self.systemErrno = systemErrno
    }

    /// Unlike libcurl's own result of that name, it doesn't depend on what the server has sent.
    static let lackOfMemory = TransferResult(code: CURLE_OUT_OF_MEMORY, systemErrno: ENOMEM)
}
