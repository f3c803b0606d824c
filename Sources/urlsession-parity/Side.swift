import ParityOurs
import ParityStage
import ParityStock

/// The two transports. The scenarios' text is the same; each side has compiled it with its own import.
enum Side: String, CaseIterable, Sendable, Codable {
    case stock, ours

    var topics: [Topic] {
        switch self {
        case .stock: ParityStock.topics
        case .ours: ParityOurs.topics
        }
    }

    var scenarios: [Scenario] { topics.flatMap(\.scenarios) }
}
