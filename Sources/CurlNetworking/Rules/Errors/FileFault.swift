import CurlTransport
import Foundation

/// Why a file can't be read, for file URLs and uploads.
enum FileFault: Error, Equatable {
    /// The system refuses.
    case unreadable(SystemError)
    case directory
    /// A pipe, a device, or the like.
    case irregular

    /// nil for a regular file.
    init?(_ status: stat) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: return nil
        case S_IFDIR: self = .directory
        default: self = .irregular
        }
    }

    var code: URLError.Code {
        switch self {
        case .unreadable(let error):
            switch error.code {
            case ENOENT, ENOTDIR: .fileDoesNotExist
            case EACCES, EPERM: .noPermissionsToReadFile
            case EISDIR: .fileIsDirectory
            default: .cannotOpenFile
            }
        case .directory: .fileIsDirectory
        case .irregular: .cannotOpenFile
        }
    }

    /// What the file is or does, without a full stop.
    var problem: String {
        switch self {
        case .unreadable(let error): "can't be read: \(error)"
        case .directory: "is a directory"
        case .irregular: "is not a regular file"
        }
    }

    var systemError: SystemError? {
        if case .unreadable(let error) = self { error } else { nil }
    }
}
