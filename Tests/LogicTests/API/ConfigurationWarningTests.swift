import Testing

@testable import CurlNetworking

@Suite("What a session tells of settings that it can't follow")
struct ConfigurationWarningTests {
    @Test("DNSSEC is a protection that a program may count on: without effect, it isn't silent")
    func validation() {
        let configuration = URLSessionConfiguration.ephemeral
        #expect(configuration.warnings.isEmpty)
        configuration.requiresDNSSECValidation = true
        #expect(configuration.warnings.count == 1)
        #expect(configuration.warnings.first?.contains("requiresDNSSECValidation") == true)
    }
}
