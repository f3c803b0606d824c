import CCurlNetworkingLibcurl

/// The average rates to which libcurl keeps a transfer's bodies, in bytes per second; nil for no limit.
package struct MaximumRates: Sendable, Equatable {
    package private(set) var receiving: Int?
    package private(set) var sending: Int?

    package var isEmpty: Bool { receiving == nil && sending == nil }

    mutating func set(_ option: NamedOption, to number: Int) {
        let rate = number > 0 ? number : nil
        if option.option == CURLOPT_MAX_RECV_SPEED_LARGE { receiving = rate } else { sending = rate }
    }
}
