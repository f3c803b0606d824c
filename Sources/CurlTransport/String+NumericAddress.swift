import Glibc

extension String {
    /// Whether this is an IPv4 address in four decimal parts, or an IPv6 address without brackets or zone.
    package var isNumericAddress: Bool {
        withCString { characters in
            // What follows a NUL would be ignored.
            guard strlen(characters) == utf8.count else { return false }
            var address = in6_addr()
            return inet_pton(AF_INET, characters, &address) == 1 || inet_pton(AF_INET6, characters, &address) == 1
        }
    }
}
