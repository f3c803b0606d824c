import CurlURLProtocol
import FoundationNetworking
import CurlNetworkingParityOurs
import CurlNetworkingParityStage
import CurlNetworkingParityStock

/// What the scenarios run on. Their text is the same; two sides have compiled it, each with its own import.
enum Side: String, CaseIterable, Sendable, Codable {
    case stock, ours
    /// The stock module's session, with this module's transport below it: what was compiled for `stock`, and not a word changed.
    case below

    var topics: [Topic] {
        switch self {
        case .stock, .below: CurlNetworkingParityStock.topics
        case .ours: CurlNetworkingParityOurs.topics
        }
    }

    var scenarios: [Scenario] { topics.flatMap(\.scenarios) }

    /// What a process does before it runs a scenario.
    func prepare() {
        guard self == .below else { return }
        Transport.protocolClasses.withLock { $0 = [CurlURLProtocol.self] }
        // For the shared session, which has no configuration of one's own.
        _ = FoundationNetworking.URLProtocol.registerClass(CurlURLProtocol.self)
    }
}
