import CurlTransport
import Foundation

/// Records one transfer for the session's trace. On the transfer's loop, within libcurl, so it only takes notes.
final class TraceTap {
    private let queue: TraceQueue
    private let task: URLSessionTask
    private var lines: TraceLines
    /// False for FTP, whose commands aren't heads with an end.
    private let sendsHeads: Bool

    init(_ queue: TraceQueue, about task: URLSessionTask, sendsHeads: Bool) {
        self.queue = queue
        self.task = task
        self.sendsHeads = sendsHeads
        lines = TraceLines(queue.redaction)
    }

    /// The tracer passed to libcurl.
    var tracer: TransferTracer {
        TransferTracer(record: record, end: end)
    }

    private func record(_ kind: TransferTracer.Kind, _ bytes: UnsafeRawBufferPointer) {
        switch kind {
        case .text: add(.text, lines.lines(of: bytes, in: .text))
        case .headerIn: add(.headerIn, lines.lines(of: bytes, in: .headerIn))
        case .headerOut: add(.headerOut, lines.lines(of: bytes, in: .headerOut))
        case .bodyIn: if queue.trace.includesBodies { add(.bodyIn, bytes) }
        case .bodyOut: recordBodyOut(bytes)
        case .tlsIn: add(.tlsIn, bytes)
        case .tlsOut: add(.tlsOut, bytes)
        }
    }

    private func recordBodyOut(_ bytes: UnsafeRawBufferPointer) {
        let headLength = sendsHeads ? lines.lengthOfRequestHead(in: bytes) : 0
        if headLength > 0 {
            add(.headerOut, lines.lines(of: UnsafeRawBufferPointer(rebasing: bytes[..<headLength]), in: .headerOut))
        }
        guard queue.trace.includesBodies, headLength < bytes.count else { return }
        add(.bodyOut, UnsafeRawBufferPointer(rebasing: bytes[headLength...]))
    }

    private func end() {
        for (stream, line) in lines.rest() {
            switch stream {
            case .text: add(.text, [line])
            case .headerIn: add(.headerIn, [line])
            case .headerOut: add(.headerOut, [line])
            }
        }
    }

    private func add(_ kind: CurlTraceEvent.Kind, _ lines: [String]) {
        for line in lines { queue.add(CurlTraceEvent(kind, time: Date(), Data(line.utf8)), about: task) }
    }

    private func add(_ kind: CurlTraceEvent.Kind, _ bytes: UnsafeRawBufferPointer) {
        queue.add(CurlTraceEvent(kind, time: Date(), Data(bytes)), about: task)
    }
}
