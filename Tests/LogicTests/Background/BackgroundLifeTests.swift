import Testing

@testable import CurlNetworking

@Suite("What a program still wants of its background session")
struct BackgroundLifeTests {
    @Test("Neither closing nor cancelling takes back the other, in whichever order and however often")
    func transitions() {
        var life = BackgroundLife.open
        #expect(!life.cancelsTasks && !life.isClosing)
        life.close()
        #expect(life == .closing(cancels: false))
        for _ in 0..<2 {
            life.cancel()
            #expect(life == .closing(cancels: true))
        }
        life = .open
        life.cancel()
        #expect(life == .cancelling)
        for _ in 0..<2 {
            life.close()
            #expect(life == .closing(cancels: true))
        }
    }
}
