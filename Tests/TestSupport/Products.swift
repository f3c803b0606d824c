import Foundation

/// Where the build under test is.
package enum Products {
    package static let directory = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent()
}
