import CurlTransport
import Foundation

/// A transfer that is about to start, on which ``CurlOptions/configureTransfer`` can set libcurl options.
///
/// Options have libcurl's own names, with or without `CURLOPT_`: `"TCP_FASTOPEN"`. They are checked against the linked libcurl's own table
/// of options, so an unknown name or a value of the wrong kind is an error. So is an option that the session relies on, or that can't have
/// an effect on this transfer. Use a transfer only within the call, on the event loop's thread.
public struct CurlTransfer: ~Copyable {
    private let easy: EasyHandle
    /// The options set so far.
    private(set) var options = ConfiguredOptions()

    init(_ easy: EasyHandle) {
        self.easy = easy
    }

    /// Whether libcurl only makes the connection, and this module sends the request and moves the bytes: for web sockets, stream tasks, and
    /// requests whose `Upgrade` may be granted.
    ///
    /// Only options that work while connecting, or make no difference there, can be set on such a transfer. See <doc:EscapeHatches>.
    public var onlyConnects: Bool { easy.opensChannel }

    /// Sets an option that takes a number, including `curl_off_t`, in the unit that libcurl documents.
    public mutating func set(_ option: CurlOption, _ value: Int) throws(CurlTransferError) {
        let named = try find(option, .number, .largeNumber)
        try perform(option, named) { easy throws(TransferFailure) in try easy.set(named, number: value) }
    }

    /// Sets an option to 1 for on or 0 for off.
    public mutating func set(_ option: CurlOption, _ value: Bool) throws(CurlTransferError) {
        try set(option, value ? 1 : 0)
    }

    /// Sets an option that takes a string; nil resets it. The string must not contain NUL, CR or LF.
    public mutating func set(_ option: CurlOption, _ value: String?) throws(CurlTransferError) {
        let named = try find(option, .string)
        if let value { try Self.check([value], of: option) }
        try perform(option, named) { easy throws(TransferFailure) in try easy.set(named, string: value) }
    }

    /// Sets an option that takes a list of strings; an empty list resets it. No string may contain NUL, CR or LF.
    public mutating func set(_ option: CurlOption, _ value: [String]) throws(CurlTransferError) {
        let named = try find(option, .list)
        try Self.check(value, of: option)
        try perform(option, named) { easy throws(TransferFailure) in try easy.set(named, list: value) }
    }

    /// Sets an option that takes bytes, one whose name ends with `_BLOB`. libcurl copies the bytes.
    public mutating func set(_ option: CurlOption, _ value: Data) throws(CurlTransferError) {
        let named = try find(option, .blob)
        try perform(option, named) { easy throws(TransferFailure) in
            try value.withBytes { bytes throws(TransferFailure) in try easy.set(named, blob: bytes) }
        }
    }

    private func find(_ option: CurlOption, _ kinds: NamedOption.Kind...) throws(CurlTransferError) -> NamedOption {
        guard let named = NamedOption(option.name) else {
            throw CurlTransferError(option, "libcurl \(CurlLibrary.versionText) has no option of this name.")
        }
        if let reason = ReservedOptions.reason(for: named, onlyConnects: onlyConnects) {
            throw CurlTransferError(option, reason)
        }
        guard kinds.contains(named.kind) else {
            throw CurlTransferError(option, "It takes \(ReservedOptions.description(of: named.kind)).")
        }
        return named
    }

    private static func check(_ texts: [String], of option: CurlOption) throws(CurlTransferError) {
        for text in texts where text.utf8.contains(where: { [0, 0x0A, 0x0D].contains($0) }) {
            throw CurlTransferError(option, "A text must not contain NUL, CR or LF.")
        }
    }

    private mutating func perform(
        _ option: CurlOption,
        _ named: NamedOption,
        _ body: (EasyHandle) throws(TransferFailure) -> Void
    ) throws(CurlTransferError) {
        do throws(TransferFailure) {
            try body(easy)
            options.add(named)
        } catch {
            throw CurlTransferError(option, error.code.text, code: Int(error.code.rawValue))
        }
    }
}

/// The name of one of libcurl's options: `"TCP_FASTOPEN"`, or `"CURLOPT_TCP_FASTOPEN"`.
///
/// Source: <https://curl.se/libcurl/c/curl_easy_setopt.html>
public struct CurlOption: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The name in upper case, without `CURLOPT_`.
    public let name: String

    /// Creates an option from its name. Whether the linked libcurl has it is checked when it is set.
    public init(_ name: String) {
        let name = name.uppercased()
        self.name = name.hasPrefix("CURLOPT_") ? String(name.dropFirst(8)) : name
    }

    /// Creates an option from its name.
    public init(stringLiteral name: String) {
        self.init(name)
    }
}

/// An option that could not be set on a transfer.
public struct CurlTransferError: LocalizedError, CustomStringConvertible, Sendable, Equatable {
    /// The option.
    public let option: CurlOption
    /// The reason it could not be set.
    public let reason: String
    /// libcurl's `CURLcode`, if libcurl itself rejected the option or its value.
    public let code: Int?

    init(_ option: CurlOption, _ reason: String, code: Int? = nil) {
        self.option = option
        self.reason = reason
        self.code = code
    }

    /// The option and the reason on one line.
    public var description: String { "CURLOPT_\(option.name): \(reason)" }

    /// The same as ``description``; also the `localizedDescription`.
    public var errorDescription: String? { description }
}
