import Foundation

extension URL {
    /// What keeps a file URL from naming a file of this machine (RFC 8089 §2), as the end of a sentence about it; nil if nothing does.
    var faultAsFile: String? {
        guard ["", "localhost"].contains(host(percentEncoded: false)?.lowercased() ?? "") else {
            return "names a file of another machine"
        }
        return path.isEmpty || path.utf8.contains(0) ? "names no file" : nil
    }
}
