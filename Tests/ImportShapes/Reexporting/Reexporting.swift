// A library that was written for the stock module and exports it again, as Alamofire does.

@_exported import Foundation
@_exported import FoundationNetworking

extension HTTPURLResponse {
    /// Something such a library does with the passive types.
    package var isSuccess: Bool { (200..<300).contains(statusCode) }
}
