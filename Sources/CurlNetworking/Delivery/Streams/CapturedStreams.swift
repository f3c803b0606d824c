import CurlNetworkingLocks
import Foundation

/// The two streams that a captured connection becomes.
///
/// `@unchecked Sendable`: they are on their way to the delegate, and nothing else refers to them.
struct CapturedStreams: @unchecked Sendable {
    let input: InputStream
    let output: OutputStream

    init(_ connection: CapturedConnection) {
        input = CapturedInputStream(connection)
        output = CapturedOutputStream(connection)
    }
}

/// Reads from a captured connection.
final class CapturedInputStream: InputStream {
    private let connection: CapturedConnection
    private let side: CapturedSide

    init(_ connection: CapturedConnection) {
        self.connection = connection
        side = CapturedSide(connection, .read)
        super.init(data: Data())
    }

    deinit {
        close()
    }

    override func open() {
        side.open(self)
    }

    override func close() {
        guard side.close() else { return }
        connection.closeReading()
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        guard side.isOpen, length > 0 else { return side.status == .atEnd ? 0 : -1 }
        let buffer = UnsafeMutableRawBufferPointer(start: buffer, count: length)
        return side.note(connection.read(into: buffer))
    }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>,
        length: UnsafeMutablePointer<Int>
    ) -> Bool {
        false
    }

    override var hasBytesAvailable: Bool { side.isOpen && connection.mayRead }

    override var delegate: StreamDelegate? {
        get { side.delegate }
        set { side.setDelegate(newValue, of: self) }
    }

    override var streamStatus: Stream.Status { side.status }
    override var streamError: (any Error)? { side.error }

    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        side.schedule(self, in: aRunLoop, mode)
    }

    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        side.remove(from: aRunLoop, mode)
    }

    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }
}

/// Writes to a captured connection.
final class CapturedOutputStream: OutputStream {
    private let content: (connection: CapturedConnection, side: CapturedSide)?

    init(_ connection: CapturedConnection) {
        content = (connection, CapturedSide(connection, .write))
        super.init(toMemory: ())
    }

    /// Required by Foundation of every output stream: makes a closed one, without a connection.
    required init(toMemory: ()) {
        content = nil
        super.init(toMemory: ())
    }

    deinit {
        close()
    }

    override func open() {
        content?.side.open(self)
    }

    override func close() {
        guard let content, content.side.close() else { return }
        content.connection.closeWriting()
    }

    override func write(_ buffer: UnsafePointer<UInt8>, maxLength length: Int) -> Int {
        guard let content, content.side.isOpen, length > 0 else { return -1 }
        return content.side.note(content.connection.write(UnsafeRawBufferPointer(start: buffer, count: length)))
    }

    override var hasSpaceAvailable: Bool { content.map { $0.side.isOpen && $0.connection.mayWrite } ?? false }

    override var delegate: StreamDelegate? {
        get { content?.side.delegate }
        set { content?.side.setDelegate(newValue, of: self) }
    }

    override var streamStatus: Stream.Status { content?.side.status ?? .closed }
    override var streamError: (any Error)? { content?.side.error }

    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        content?.side.schedule(self, in: aRunLoop, mode)
    }

    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        content?.side.remove(from: aRunLoop, mode)
    }

    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }
}
