import CurlTransport

/// A row of the table of connection options: a numeric libcurl option, and how a property of `CurlOptions.ConnectionOptions` becomes that
/// number. Validation, the merging of hosts with the session, and the transport all use the table.
struct ConnectionOption: Sendable {
    typealias Options = CurlOptions.ConnectionOptions

    /// The name used in errors: the property, or a part of one that has several.
    let name: String
    /// Whether `options` set the property. If so, they determine all of its parts.
    let isSet: @Sendable (_ options: Options) -> Bool
    /// The problem with the value in `options`; nil if it is valid.
    let objection: @Sendable (_ options: Options) -> String?
    /// The number for libcurl; nil for its default.
    let number: @Sendable (_ options: Options) -> Int?
    /// libcurl's name for the option, without "CURLOPT_".
    private let curlName: String
    /// The first libcurl version that has the option.
    let since: CurlVersion
    /// Whether only transfers that send a body set the option.
    private let needsBody: Bool

    /// A row for one part of a property.
    init<Property, Value>(
        _ name: String,
        _ property: @escaping @Sendable (Options) -> Property?,
        _ part: @escaping @Sendable (Property) -> Value?,
        _ unit: Unit<Value>,
        _ curlName: String,
        since: CurlVersion = .oldest,
        needsBody: Bool = false
    ) {
        self.name = name
        isSet = { property($0) != nil }
        objection = { property($0).flatMap(part).flatMap(unit.objection) }
        number = { property($0).flatMap(part).map(unit.number) }
        self.curlName = curlName
        self.since = since
        self.needsBody = needsBody
    }

    /// A row for a property that is a single value.
    init<Value>(
        _ name: String,
        _ property: @escaping @Sendable (Options) -> Value?,
        _ unit: Unit<Value>,
        _ curlName: String,
        since: CurlVersion = .oldest,
        needsBody: Bool = false
    ) {
        self.init(name, property, { $0 }, unit, curlName, since: since, needsBody: needsBody)
    }

    /// Whether the linked libcurl has the option.
    var isAvailable: Bool { NamedOption(curlName) != nil }

    /// The transport's setting; nil for libcurl's default.
    func setting(_ options: Options) -> NumberSetting? {
        guard let number = number(options), let option = NamedOption(curlName) else { return nil }
        return NumberSetting(option, number, needsBody: needsBody)
    }
}

extension ConnectionOption {
    /// The conversion of values to libcurl's numbers, and their validation.
    struct Unit<Value>: Sendable {
        let number: @Sendable (Value) -> Int
        let objection: @Sendable (Value) -> String?
    }
}

extension ConnectionOption.Unit<Duration> {
    static let seconds = longerThanZero(in: .seconds(1))
    static let milliseconds = longerThanZero(in: .milliseconds(1))

    private static func longerThanZero(in unit: Duration) -> Self {
        Self(number: { $0.count(of: unit) }, objection: { $0 > .zero ? nil : "It must be longer than 0." })
    }
}

extension ConnectionOption.Unit<Int> {
    static let count = Self(number: { $0 }, objection: { $0 >= 1 ? nil : "There must be at least 1." })

    static func bytes(_ range: ClosedRange<Int>) -> Self {
        Self(
            number: { $0 },
            objection: {
                range.contains($0) ? nil : "It must be \(range.lowerBound) to \(range.upperBound) bytes."
            }
        )
    }
}

extension ConnectionOption.Unit<Bool> {
    static let flag = Self(number: { $0 ? 1 : 0 }, objection: { _ in nil })
}

extension ConnectionOption.Unit {
    /// On if there is a value.
    static var presence: Self { Self(number: { _ in 1 }, objection: { _ in nil }) }
}
