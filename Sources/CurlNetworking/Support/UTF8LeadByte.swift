/// What the first byte of a character of several bytes says of the others in UTF-8 (RFC 3629 §4).
struct UTF8LeadByte {
    /// How many bytes follow.
    let followers: Int
    /// The range of the second byte, which excludes overlong forms, surrogates and values beyond U+10FFFF.
    let second: ClosedRange<UInt8>
    private let byte: UInt8

    /// The range of any byte after the second one.
    static var later: ClosedRange<UInt8> { 0x80...0xBF }

    /// nil for ASCII, and for bytes that begin no character.
    init?(_ byte: UInt8) {
        switch byte {
        case 0xC2...0xDF: (followers, second) = (1, 0x80...0xBF)
        case 0xE0: (followers, second) = (2, 0xA0...0xBF)
        case 0xED: (followers, second) = (2, 0x80...0x9F)
        case 0xE1...0xEF: (followers, second) = (2, 0x80...0xBF)
        case 0xF0: (followers, second) = (3, 0x90...0xBF)
        case 0xF1...0xF3: (followers, second) = (3, 0x80...0xBF)
        case 0xF4: (followers, second) = (3, 0x80...0x8F)
        default: return nil
        }
        self.byte = byte
    }

    /// The bits that are part of the character's value.
    var bits: UInt32 { UInt32(byte) & (0x3F >> UInt32(followers)) }
}
