import CurlTransport
import Foundation

extension StreamPort {
    /// The program's operations, until the loop takes them.
    struct Inbox {
        var operations = Fifo<Operation>()
        /// Lent by the loop, until an operation arrives that only the loop can carry out.
        private var sockets: (reading: PlainSocket?, writing: PlainSocket?)

        /// Lets other threads read and write, if nothing is ahead of them.
        mutating func lend(_ sockets: (reading: PlainSocket?, writing: PlainSocket?)) {
            self.sockets = operations.isEmpty ? sockets : (nil, nil)
        }

        /// Carries out the operation if that needs no waiting, and returns a call that tells the program; otherwise leaves it to the loop.
        mutating func add(_ operation: Operation, for owner: any StreamOwner) -> (@Sendable () -> Void)? {
            switch operation {
            case .read(let minimum, let maximum, _, let reader):
                if let socket = sockets.reading, maximum > 0, minimum <= min(maximum, Self.maximumMoved) {
                    let data = Self.read(minimum, maximum, from: socket)
                    if !data.isEmpty, data.count >= minimum { return reader.answer(data, owner) }
                    if !data.isEmpty { operations.append(.arrived(data)) }
                }
                operations.append(operation)
            case .write(let data, let timeout, let writer):
                var rest = data
                if let socket = sockets.writing {
                    rest = data.dropFirst(data.prefix(Self.maximumMoved).withUnsafeBytes { socket.send($0) })
                    if rest.isEmpty { return writer.answer(owner) }
                }
                operations.append(.write(rest, timeout: timeout, writer))
            case .closeRead, .closeWrite, .transition, .arrived:
                operations.append(operation)
            }
            sockets = (nil, nil)
            return nil
        }

        /// The most that is moved at once, in bytes.
        private static let maximumMoved = 64 * 1024

        /// Returns fewer bytes than the minimum if the socket has no more.
        private static func read(_ minimum: Int, _ maximum: Int, from socket: PlainSocket) -> Data {
            Data.filled(upTo: min(maximum, maximumMoved)) { buffer in
                var count = 0
                repeat {
                    let received = socket.receive(into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
                    guard received > 0 else { break }
                    count += received
                } while count < minimum
                return count
            }
        }
    }
}

extension StreamReader {
    /// The call that tells the program of bytes read on its own thread.
    fileprivate func answer(_ data: Data, _ owner: any StreamOwner) -> @Sendable () -> Void {
        switch self {
        case .handler(let handler): { owner.call { handler(data, false, nil) } }
        case .continuation(let continuation): { continuation.resume(returning: (data, false)) }
        }
    }
}

extension StreamWriter {
    /// The call that tells the program that the system has taken everything it wrote.
    fileprivate func answer(_ owner: any StreamOwner) -> @Sendable () -> Void {
        switch self {
        case .handler(let handler): { owner.call { handler(nil) } }
        case .continuation(let continuation): { continuation.resume() }
        }
    }
}
