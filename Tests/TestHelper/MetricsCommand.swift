import CurlNetworking
import Foundation

/// `metrics URL…`: one after the other, each with what its metrics tell of the connection in a line.
final class MetricsCommand: NSObject, URLSessionTaskDelegate {
    static func run(_ arguments: [String]) async {
        let configuration = URLSessionConfiguration.ephemeral
        // The connections are what is asked about.
        configuration.urlCache = nil
        let session = URLSession(configuration: configuration)
        for argument in arguments {
            guard let url = URL(string: argument) else { return Parent.say("no URL: \(argument)") }
            do {
                _ = try await session.data(from: url, delegate: MetricsCommand())
            } catch {
                Parent.say("error \((error as? URLError)?.code.rawValue ?? 0)")
            }
        }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        for transaction in metrics.transactionMetrics { Parent.say(Self.line(about: transaction)) }
    }

    private static func line(about transaction: URLSessionTaskTransactionMetrics) -> String {
        let version = transaction.negotiatedTLSProtocolVersion.map { "\($0)" } ?? "no version"
        let suite = transaction.negotiatedTLSCipherSuite.map { "\($0)" } ?? "no suite"
        let dates = [
            transaction.connectStartDate, transaction.secureConnectionStartDate, transaction.secureConnectionEndDate,
        ].compactMap { $0 }
        let handshake =
            dates.count == 3 && dates == dates.sorted() && transaction.connectEndDate == dates.last
            ? "secured after connecting" : dates.isEmpty ? "not secured" : "\(dates)"
        let connection = transaction.isReusedConnection ? "reused" : "new"
        let line = "\(transaction.networkProtocolName ?? "no protocol") \(version) \(suite) \(handshake) \(connection)"
        return transaction.isProxyConnection ? line + " proxied" : line
    }
}
