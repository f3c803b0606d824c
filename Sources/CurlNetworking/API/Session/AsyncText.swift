import Foundation

// Apple's Foundation has these sequences; Foundation on Linux doesn't.

extension AsyncSequence where Element == UInt8 {
    /// The bytes as lines of UTF-8 text.
    ///
    /// As on Apple's platforms, lines end with LF, CR, CR LF, VT, FF, NEL (U+0085), LINE SEPARATOR (U+2028) or PARAGRAPH
    /// SEPARATOR (U+2029), and empty lines are left out. If empty lines matter, read
    /// ``URLSession/AsyncBytes/chunks`` instead.
    ///
    /// As there, too, a line may be of any length, and is collected in memory: a server that never ends one makes the program's memory
    /// grow. If you don't trust the server, read ``URLSession/AsyncBytes/chunks`` or the bytes themselves, and limit what you keep of them.
    public var lines: AsyncLineSequence<Self> { AsyncLineSequence(self) }

    /// The bytes as characters of UTF-8 text. A character can have any number of combining marks; one with more than 4096 Unicode scalars
    /// is split into parts of that length.
    public var characters: AsyncCharacterSequence<Self> { AsyncCharacterSequence(self) }

    /// The bytes as Unicode scalars of UTF-8 text; anything that isn't UTF-8 becomes U+FFFD.
    public var unicodeScalars: AsyncUnicodeScalarSequence<Self> { AsyncUnicodeScalarSequence(self) }
}

/// The Unicode scalars in a sequence of UTF-8 bytes.
///
/// Source: <https://developer.apple.com/documentation/foundation/asyncunicodescalarsequence>
public struct AsyncUnicodeScalarSequence<Base: AsyncSequence>: AsyncSequence where Base.Element == UInt8 {
    /// One scalar.
    public typealias Element = Unicode.Scalar

    private let base: Base

    init(_ base: Base) {
        self.base = base
    }

    /// An iterator over the scalars.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: base.makeAsyncIterator())
    }

    /// An iterator that decodes as it reads.
    public struct Iterator: AsyncIteratorProtocol {
        private var base: Base.AsyncIterator
        /// A byte that ended an invalid sequence and begins the next one.
        private var leftover: UInt8?

        fileprivate init(base: Base.AsyncIterator) {
            self.base = base
        }

        /// Returns the next scalar; nil at the end and after an error. Like the other form, it doesn't leave the caller's actor.
        public nonisolated(nonsending) mutating func next() async throws -> Unicode.Scalar? {
            try await next(isolation: #isolation)
        }

        /// Returns the next Unicode scalar, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Unicode.Scalar? {
            guard let first = try await nextByte(isolation: actor) else { return nil }
            if first < 0x80 { return Unicode.Scalar(first) }
            guard let lead = UTF8LeadByte(first) else { return Self.replacement }
            var (value, range) = (lead.bits, lead.second)
            for _ in 0..<lead.followers {
                guard let byte = try await nextByte(isolation: actor) else { return Self.replacement }
                guard range.contains(byte) else {
                    leftover = byte
                    return Self.replacement
                }
                value = value << 6 | UInt32(byte & 0x3f)
                range = UTF8LeadByte.later
            }
            return Unicode.Scalar(value) ?? Self.replacement
        }

        private mutating func nextByte(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
            if let leftover {
                self.leftover = nil
                return leftover
            }
            return try await base.next(isolation: actor)
        }

        private static var replacement: Unicode.Scalar { "\u{FFFD}" }
    }
}

/// The characters in a sequence of UTF-8 bytes.
///
/// Source: <https://developer.apple.com/documentation/foundation/asynccharactersequence>
public struct AsyncCharacterSequence<Base: AsyncSequence>: AsyncSequence where Base.Element == UInt8 {
    /// One character.
    public typealias Element = Character

    private let scalars: AsyncUnicodeScalarSequence<Base>

    init(_ base: Base) {
        scalars = AsyncUnicodeScalarSequence(base)
    }

    /// An iterator over the characters.
    public func makeAsyncIterator() -> Iterator {
        Iterator(scalars: scalars.makeAsyncIterator())
    }

    /// An iterator that reads one scalar ahead, which shows where a character ends.
    public struct Iterator: AsyncIteratorProtocol {
        private var scalars: AsyncUnicodeScalarSequence<Base>.Iterator
        private var text = ""
        private var count = 0
        /// Public for Foundation's own text types. Asking `text` would scan all of it for each scalar.
        private var recognizer = Unicode._CharacterRecognizer()

        /// In scalars.
        private static var longest: Int { 4096 }

        fileprivate init(scalars: AsyncUnicodeScalarSequence<Base>.Iterator) {
            self.scalars = scalars
        }

        /// Returns the next character; nil at the end and after an error. Like the other form, it doesn't leave the caller's actor.
        public nonisolated(nonsending) mutating func next() async throws -> Character? {
            try await next(isolation: #isolation)
        }

        /// Returns the next character, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Character? {
            while let scalar = try await nextScalar(isolation: actor) {
                if count == Self.longest { recognizer = Unicode._CharacterRecognizer() }
                guard recognizer.hasBreak(before: scalar), count > 0 else {
                    text.unicodeScalars.append(scalar)
                    count += 1
                    continue
                }
                defer { (text, count) = (String(scalar), 1) }
                return text.first
            }
            defer { (text, count) = ("", 0) }
            return text.first
        }

        /// After an error, the scalars read so far don't form a character.
        private mutating func nextScalar(isolation actor: isolated (any Actor)?) async throws -> Unicode.Scalar? {
            do {
                return try await scalars.next(isolation: actor)
            } catch {
                (text, count) = ("", 0)
                throw error
            }
        }
    }
}

/// The non-empty lines in a sequence of UTF-8 bytes, without their line endings.
///
/// Source: <https://developer.apple.com/documentation/foundation/asynclinesequence>
public struct AsyncLineSequence<Base: AsyncSequence>: AsyncSequence where Base.Element == UInt8 {
    /// One line.
    public typealias Element = String

    private let base: Base

    init(_ base: Base) {
        self.base = base
    }

    /// An iterator over the lines.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: base.makeAsyncIterator())
    }

    /// An iterator that decodes line by line.
    public struct Iterator: AsyncIteratorProtocol {
        private var base: Base.AsyncIterator
        private var line: [UInt8] = []

        fileprivate init(base: Base.AsyncIterator) {
            self.base = base
        }

        /// Returns the next line; nil at the end and after an error. Like the other form, it doesn't leave the caller's actor.
        public nonisolated(nonsending) mutating func next() async throws -> String? {
            try await next(isolation: #isolation)
        }

        /// Returns the next line, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> String? {
            while let byte = try await nextByte(isolation: actor) {
                line.append(byte)
                let end = Self.lengthOfLineEnd(of: line)
                guard end > 0 else { continue }
                line.removeLast(end)
                if let text = takeLine() { return text }
            }
            return takeLine()
        }

        /// After an error, the bytes read so far don't form a line.
        private mutating func nextByte(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
            do {
                return try await base.next(isolation: actor)
            } catch {
                line = []
                throw error
            }
        }

        private mutating func takeLine() -> String? {
            guard !line.isEmpty else { return nil }
            defer { line.removeAll(keepingCapacity: true) }
            return String(decoding: line, as: UTF8.self)
        }

        /// The length in bytes of the line ending at the end of `line`. In CR LF, the CR ends the line and the LF an empty one.
        private static func lengthOfLineEnd(of line: [UInt8]) -> Int {
            switch line[line.count - 1] {
            case 0x0a...0x0d: 1
            case 0x85 where line.count >= 2 && line[line.count - 2] == 0xc2: 2
            case 0xa8, 0xa9:
                line.count >= 3 && line[line.count - 3] == 0xe2 && line[line.count - 2] == 0x80 ? 3 : 0
            default: 0
            }
        }
    }
}

extension AsyncUnicodeScalarSequence: Sendable where Base: Sendable {}
extension AsyncCharacterSequence: Sendable where Base: Sendable {}
extension AsyncLineSequence: Sendable where Base: Sendable {}
