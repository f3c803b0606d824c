import Foundation
import Glibc
import Testing

/// Runs `body` while what was at `path` is elsewhere, and `path` leads to itself: so it is no use, not even to the superuser.
func withLoop<Result>(at path: String, _ body: () throws -> Result) throws -> Result {
    let elsewhere = path + ".elsewhere"
    try #require(rename(path, elsewhere) == 0)
    try #require(symlink(path, path) == 0)
    let result = try body()
    try #require(unlink(path) == 0)
    try #require(rename(elsewhere, path) == 0)
    return result
}
