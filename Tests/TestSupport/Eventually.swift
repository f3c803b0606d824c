/// Returns when `condition` holds: for what happens without an event that says so. Throws `CancellationError` if the test runs out of time
/// before.
package func eventually(_ condition: () async throws -> Bool) async throws {
    while try await !condition() {
        try await Task.sleep(for: .milliseconds(1))
    }
}
