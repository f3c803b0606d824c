import Foundation
import Glibc

/// The terminal in full-screen mode: keys arrive one at a time and aren't echoed, and the screen is the alternate one, without the shell's
/// text.
///
/// However the program ends, the terminal is restored: by `leave()`, by `atexit` or, if the program crashes or gets SIGQUIT, by a signal
/// handler; and while SIGTSTP has stopped it. SIGKILL, SIGSTOP, and signals that aren't meant to end a program leave it as it is.
enum RawTerminal {
    private static let enterScreen = "\u{1B}[?1049h\u{1B}[?25l"
    private static let leaveScreen = "\u{1B}[?25h\u{1B}[?1049l"
    private static let crashes = [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]

    /// The data for the handlers, prepared in advance: they may do very little.
    private struct Saved {
        var settings = termios()
        var farewell: UnsafeMutableBufferPointer<CChar>
        var isRaw = false
    }

    // Written on the main thread, before the handlers that read it can run, and by them when nothing else runs any more.
    private nonisolated(unsafe) static var saved: UnsafeMutablePointer<Saved>?

    /// - Throws: If standard input isn't a terminal.
    static func enter() throws {
        let saved = try Self.saved ?? prepare()
        Self.saved = saved
        var raw = saved.pointee.settings
        cfmakeraw(&raw)
        // Keys that were pressed meanwhile count: after a stop, this may be done twice.
        guard tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0 else { throw SystemCallError("the terminal") }
        saved.pointee.isRaw = true
        Console.write(enterScreen)
    }

    /// Restores the terminal. Does nothing if it hasn't been changed. Async-signal-safe.
    static func leave() {
        guard let saved, saved.pointee.isRaw else { return }
        saved.pointee.isRaw = false
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &saved.pointee.settings)
        _ = write(STDOUT_FILENO, saved.pointee.farewell.baseAddress, saved.pointee.farewell.count)
    }

    /// On first use, saves the terminal's state and makes sure that it will be restored.
    private static func prepare() throws -> UnsafeMutablePointer<Saved> {
        let farewell = UnsafeMutableBufferPointer<CChar>.allocate(capacity: leaveScreen.utf8.count)
        _ = farewell.initialize(from: leaveScreen.utf8.map(CChar.init(bitPattern:)))
        let saved = UnsafeMutablePointer<Saved>.allocate(capacity: 1)
        saved.initialize(to: Saved(farewell: farewell))
        guard tcgetattr(STDIN_FILENO, &saved.pointee.settings) == 0 else { throw SystemCallError("the terminal") }
        atexit { RawTerminal.leave() }
        for number in crashes {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                RawTerminal.leave()
                // The handler has been removed by now: this time the signal ends the process, as it would have.
                raise(number)
            }
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND)) | SA_NODEFER
            sigaction(number, &action, nil)
        }
        return saved
    }

    /// Stops the process as SIGTSTP does, with the terminal restored; returns when the process continues, or at once if there is no shell
    /// that could continue it.
    static func suspendProcess() throws {
        leave()
        // Watching the signal has set its default action aside, and may have blocked it on this thread.
        var (standard, watching) = (sigaction(), sigaction())
        sigaction(SIGTSTP, &standard, &watching)
        var (stop, mask) = (sigset_t(), sigset_t())
        sigemptyset(&stop)
        sigaddset(&stop, SIGTSTP)
        pthread_sigmask(SIG_UNBLOCK, &stop, &mask)
        raise(SIGTSTP)
        pthread_sigmask(SIG_SETMASK, &mask, nil)
        sigaction(SIGTSTP, &watching, nil)
        try enter()
    }

    /// Draws a whole screen.
    static func draw(_ lines: [String]) {
        Console.write("\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J")
    }
}
