import CurlTransport
import Foundation

/// What has been heard of the response to a request, which says whether the request may be sent again. Loop only.
struct ReplayEvidence {
    /// Whether a line of a response, possibly informational, has arrived at least in part.
    private var hasHeard = false
    /// nil if it makes no difference how often the request is carried out.
    private let watch: ResponseWatch?

    init(for request: URLRequest) {
        watch = ReplayPolicy.mayBeRepeated(request.httpMethod ?? "GET") ? nil : ResponseWatch()
    }

    /// Once a line has arrived, watching is over.
    var responseWatch: ResponseWatch? { hasHeard ? nil : watch }

    /// A line of a response has arrived.
    mutating func noteLine() {
        hasHeard = true
    }

    /// Corrects the failure if bytes of a response had arrived, and libcurl doesn't count them.
    mutating func interpret(_ failure: TransferFailure) -> TransferFailure {
        guard responseWatch?.hasHeard == true else { return failure }
        hasHeard = true
        return ReplayPolicy.mayBeLoss(failure) ? .noHead : failure
    }

    /// The loss that made the transfer fail; nil if it was none after which the request may be sent again.
    func loss(by failure: TransferFailure, hasHead: Bool) -> TransferEnding.ConnectionLoss? {
        let circumstances = ReplayPolicy.Circumstances(hasHeard: hasHeard, hasHead: hasHead)
        guard ReplayPolicy.isLossOfKeptConnection(failure, circumstances) else { return nil }
        return ReplayPolicy.needsOwnConnection(failure) ? .everyConnection : .keptConnection
    }
}
