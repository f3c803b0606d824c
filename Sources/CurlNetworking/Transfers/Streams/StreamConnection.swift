import CurlTransport
import Foundation

/// The owner of a stream's connection. Loop only.
protocol StreamConnectionOwner: AnyObject {
    func streamSecured(_ session: TLSSession?)

    /// Called when the connection is over, and the channel is closed. The last call.
    func streamFinished(_ error: URLError?)
}

/// An open connection that a stream task's port reads from and writes to. Loop only.
///
/// This file moves the bytes; `StreamConnection+TLS.swift` begins and ends TLS.
final class StreamConnection {
    /// The layer between the channel and the port.
    enum Security {
        case none
        case handshake(TLSClient)
        /// The delegate is being asked. An answer has to name the object.
        case asking(TLSClient, Asking)
        case established(TLSClient)
        /// Our side has ended TLS, and waits for the other side to do so.
        case ending(TLSClient)
        /// The other side closed the connection instead. The port has the earlier bytes; whatever needs more fails.
        case lost(TransferFailure)
    }

    /// A handshake's question that waits for its answer.
    ///
    /// `@unchecked Sendable`: mutable state is used only on the loop.
    final class Asking: @unchecked Sendable {
        let question: HandshakeQuestion
        /// Retains the session as long as an answer is wanted.
        var sender: ChallengeSender?

        init(_ question: HandshakeQuestion) {
            self.question = question
        }
    }

    /// The other side, and how it may be reached.
    struct Site {
        /// The peer of TLS, if TLS is used; or why it can't be.
        let peer: Result<TLSClient.Peer, TransferFailure>
        /// Holds the program's own libcurl options; nil for none.
        let hooks: TransferHooks?
        let origin: Origin
        /// How long a TLS handshake may take.
        let handshakeTimeout: Duration
        /// Whether libcurl speaks TLS on the connection, with the server or with a proxy, so that the socket alone is of no use.
        let isEncrypted: Bool
    }

    private enum Stage {
        case open(Channel)
        /// Both directions are closed. What was written before may still be on its way.
        case lingering(Channel, LingeringClose)
        case over
    }

    /// A step that waits until the system has everything that was written.
    private enum FinalStep {
        /// The connection's write side ends.
        case finishSending
        /// The program gets the connection.
        case capture
    }

    let url: URL?
    let port: StreamPort
    let site: Site
    unowned let owner: any StreamConnectionOwner

    private var stage: Stage
    var security = Security.none
    /// How many bytes of the port's current write the channel has.
    private var sendingCount = 0
    /// In order.
    private var finalSteps = Fifo<FinalStep>()
    /// How many of the last bytes sent only announce the end: TLS's alert, and FIN.
    private var closingCount = 1
    private(set) var hasReachedEnd = false
    /// Data decrypted while nothing could be read: between our end of TLS and the other side's.
    var leftover = Data()
    private var isServing = false
    /// Schedules a round in which more is written; nothing is written before it.
    private lazy var writeSoon = Deadline { [weak self] in self?.serve() }
    private lazy var nextLook = Deadline { [weak self] in self?.look() }

    /// - Parameter channel: An open channel.
    init(
        _ channel: Channel,
        _ port: StreamPort,
        to site: Site,
        url: URL?,
        owner: any StreamConnectionOwner
    ) {
        stage = .open(channel)
        self.port = port
        self.site = site
        self.url = url
        self.owner = owner
    }

    /// nil once the connection is over.
    private var channel: Channel? {
        switch stage {
        case .open(let channel), .lingering(let channel, _): channel
        case .over: nil
        }
    }

    /// Lets the port's reads and writes begin.
    /// - Parameter bytes: Bytes that have arrived already.
    func open(after bytes: Data = Data()) {
        channel?.delegate = self
        if !bytes.isEmpty { port.received(bytes) }
        port.open(over: self)
    }

    var phase: TransferPhase {
        switch security {
        case .handshake, .asking: .securing
        case .none, .established, .ending, .lost: channel?.phase ?? .receiving
        }
    }

    /// Closes the connection. Nothing is reported after this.
    func close() {
        if let channel {
            stage = .over
            channel.loop.cancel(writeSoon)
            channel.loop.cancel(nextLook)
            channel.close()
        }
        if case .asking(_, let asking) = security { asking.sender?.withdraw() }
        security = .none
    }

    private func finish(_ error: URLError?) {
        guard channel != nil else { return }
        close()
        owner.streamFinished(error)
    }

    func fail(_ error: URLError) {
        guard channel != nil else { return }
        let tls: TLSClient? = if case .established(let tls) = security { tls } else { nil }
        close()
        // Received bytes can still be read.
        while let tls, case (.bytes, let bytes)? = try? tls.read(most: .max) { port.received(bytes) }
        owner.streamFinished(error)
    }

    func fail(_ failure: TransferFailure) {
        fail(URLError(failure, url: url))
    }

    // MARK: - Bytes

    /// The most steps with writes in one turn; other connections are waiting, too.
    private static let maximumSteps = 16

    /// Moves bytes for as long as it can: in a loop, since a step can make another one possible.
    private func serve() {
        guard !isServing else { return }
        isServing = true
        var steps = 0
        while moveBytes() {
            steps += 1
            if steps == Self.maximumSteps, let loop = channel?.loop { loop.schedule(writeSoon, at: loop.now) }
        }
        isServing = false
    }

    /// One step in each direction. True if something has moved.
    private func moveBytes() -> Bool {
        guard let channel else { return false }
        let hasRead = decrypt()
        let hasWritten = write(to: channel)
        guard self.channel != nil else { return false }
        channel.setReading(wantsBytes)
        return hasRead || hasWritten
    }

    private var wantsBytes: Bool {
        if case .lingering = stage { return true }
        return switch security {
        case .none, .established: port.wantedCount > 0
        case .handshake, .ending: !port.isPaused
        case .asking, .lost: false
        }
    }

    /// Gives the port the bytes it wants. True if it got any.
    private func decrypt() -> Bool {
        guard port.wantedCount > 0 else { return false }
        do throws(TransferFailure) {
            switch security {
            case .established(let tls): return try decrypt(tls)
            case .lost(let failure): throw failure
            case .none, .handshake, .asking, .ending: return false
            }
        } catch {
            fail(error)
            return false
        }
    }

    private func decrypt(_ tls: TLSClient) throws(TransferFailure) -> Bool {
        let (reading, bytes) = try tls.read(most: port.wantedCount)
        flush(tls)
        switch reading {
        case .bytes: port.received(bytes)
        case .closed: port.receivedEnd()
        case .needsInput where hasReachedEnd: throw .truncatedTLS
        case .needsInput: return false
        }
        return true
    }

    /// The most bytes that the channel gets at once, since it copies them.
    private static let sentAtOnce = 128 * 1024

    private func write(to channel: Channel) -> Bool {
        guard sendingCount == 0, !writeSoon.isScheduled, let data = port.unwritten else { return false }
        let piece = data.prefix(Self.sentAtOnce)
        do throws(TransferFailure) {
            switch security {
            case .none:
                piece.withUnsafeBytes { channel.send($0) }
                sendingCount = piece.count
                channel.flush()
            case .established(let tls):
                try piece.withBytes { bytes throws(TransferFailure) in try tls.write(bytes) }
                sendingCount = piece.count
                flush(tls)
            case .lost(let failure): throw failure
            // Data meant for TLS must not be sent in the clear.
            case .handshake, .asking, .ending: return false
            }
            return true
        } catch {
            fail(error)
            return false
        }
    }

    /// Sends the output of TLS. Returns how many bytes that is.
    @discardableResult
    func flush(_ tls: TLSClient) -> Int {
        guard let channel else { return 0 }
        let output = tls.takeOutput()
        guard !output.isEmpty else { return 0 }
        output.withUnsafeBytes { channel.send($0) }
        channel.flush()
        if channel.unsentCount == 0 { tls.noteSent() }
        return output.count
    }
}

extension StreamConnection: ChannelDelegate {
    /// The channel is already open.
    func channelOpened(_ channel: Channel) {}

    /// The server may have said why it closes the connection.
    var takesLastWords: Bool { true }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        switch security {
        case .none:
            // Last words, which no read has asked for: a caller may have taken earlier bytes.
            if port.wantedCount == 0 { port.takeOperations() }
            port.received(Data(bytes))
        case .lost: return
        case .handshake(let tls), .asking(let tls, _), .established(let tls), .ending(let tls):
            do throws(TransferFailure) {
                try tls.receive(bytes)
            } catch {
                return fail(error)
            }
            advanceTLS()
        }
        serve()
    }

    func channelReachedEnd(_ channel: Channel) {
        hasReachedEnd = true
        if case .lingering = stage { return finishLingering(on: channel) }
        switch security {
        case .none where channel.isTruncated: fail(.truncatedTLS)
        case .none: port.receivedEnd()
        case .established: serve()
        case .handshake, .asking: fail(.noHandshake)
        case .ending: endTLS(.lost(.truncatedTLS))
        case .lost: break
        }
    }

    func channelSentAll(_ channel: Channel) {
        let count = sendingCount
        sendingCount = 0
        if count > 0 { port.wrote(count) }
        takeFinalSteps()
        serve()
    }

    func channel(_ channel: Channel, failed failure: TransferFailure) {
        if case .ending = security { endTLS(.lost(failure)) } else { fail(failure) }
    }
}

extension StreamConnection: StreamCarrier {
    var sockets: (reading: PlainSocket?, writing: PlainSocket?) {
        guard let channel, case .none = security else { return (nil, nil) }
        return (channel.receivingSocket, sendingCount == 0 ? channel.sendingSocket : nil)
    }

    func portChanged() {
        serve()
    }

    func closeWriting() {
        finalSteps.append(.finishSending)
        if case .established(let tls) = security {
            tls.close()
            closingCount += flush(tls)
        }
        // The channel may also have bytes of its previous owner.
        takeFinalSteps()
    }

    private func takeFinalSteps() {
        while let channel, channel.unsentCount == 0, let step = finalSteps.popFirst() {
            switch step {
            case .finishSending: channel.finishSending()
            case .capture: capture(channel)
            }
        }
    }

    func begin(_ transition: StreamPort.Queue.Transition) {
        // The channel still has part of a write, and it is unknown how much of that was sent.
        if let failure = port.failure { return fail(failure) }
        switch transition {
        case .startTLS: startTLS()
        case .stopTLS: stopTLS()
        case .capture:
            finalSteps.append(.capture)
            takeFinalSteps()
        }
    }

    func transitionTimedOut() {
        fail(URLError(.timedOut, url: url, "TLS took too long to begin or to end.").with(phase: .securing))
    }

    func end() {
        guard port.failure == nil, let channel, channel.isOpen else { return finish(port.failure) }
        stage = .lingering(channel, LingeringClose(unacknowledged: channel.unacknowledgedCount, at: channel.loop.now))
        channel.loop.schedule(nextLook, at: channel.loop.now + LingeringClose.interval)
        if hasReachedEnd { finishLingering(on: channel) } else { channel.discardInput(expendable: closingCount) }
    }

    /// Called when the other side has ended: nothing can reset the connection now, and the system sends the rest by itself.
    private func finishLingering(on channel: Channel) {
        // The end of TLS may still be unsent.
        if channel.unsentCount == 0 { finish(nil) }
    }

    private func look() {
        guard case .lingering(let channel, var lingering) = stage else { return }
        let loop = channel.loop
        let verdict = lingering.look(unacknowledged: channel.unacknowledgedCount, at: loop.now)
        stage = .lingering(channel, lingering)
        switch verdict {
        case .wait: loop.schedule(nextLook, at: loop.now + LingeringClose.interval)
        case .close: finish(nil)
        case .giveUp:
            let description = "The other side no longer takes what was written before the stream was closed."
            fail(URLError(.timedOut, url: url, description).with(phase: .sending))
        }
    }

    private func capture(_ channel: Channel) {
        guard let owner = port.owner else { return }
        var (tls, surplus): (TLSClient?, Data) = (nil, port.surplus)
        do throws(TransferFailure) {
            let early = try channel.takeEarly()
            switch security {
            case .none:
                surplus += early
            case .established(let client):
                tls = client
                try early.withBytes { bytes throws(TransferFailure) in try client.receive(bytes) }
            case .lost(let failure): throw failure
            case .handshake, .asking, .ending: return
            }
        } catch {
            return fail(error)
        }
        guard !site.isEncrypted, let socket = channel.descriptor,
            let connection = CapturedConnection(socket, tls: tls, surplus: surplus)
        else {
            let description =
                "The connection can't be taken from libcurl, which speaks TLS on it, or there are no descriptors left."
            return fail(URLError(.cannotLoadFromNetwork, url: url, description))
        }
        port.noteCapture()
        owner.tell(.captured(CapturedStreams(connection)))
        close()
        port.fail(.captured)
        self.owner.streamFinished(nil)
    }
}
