import Foundation

@testable import CurlNetworking

/// A delegate that wants the body, and does nothing else unless it says so.
protocol IndifferentTransferDelegate: TransferDelegate {}

extension IndifferentTransferDelegate {
    func transfer(_ transfer: any Transfer, received head: ReceivedHead) throws(URLError) -> BodyRoute { .deliver }
    func transfer(
        _ transfer: any Transfer,
        received response: URLResponse,
        storagePolicy: URLCache.StoragePolicy
    ) throws(URLError) {}
    func transfer(_ transfer: any Transfer, opened tunnel: ProxyTunnel) {}
    func transfer(_ transfer: any Transfer, receivedInformational head: ResponseHead) {}
    func transfer(_ transfer: any Transfer, received body: UnsafeRawBufferPointer) throws(URLError) {}
    func transferMayDeliver(_ transfer: any Transfer) -> Bool { true }
    func transferLeftConnection(_ transfer: any Transfer) {}
    func transferMaySend(_ transfer: any Transfer) -> Bool { true }
    func transfer(_ transfer: any Transfer, sent totalBytes: Int64) {}
    func transferSettled(_ transfer: any Transfer) {}
    func transferFinished(_ transfer: any Transfer, _ ending: TransferEnding) {}
}
