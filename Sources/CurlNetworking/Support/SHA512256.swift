/// SHA-512/256 (FIPS 180-4 §6.7), for short messages.
enum SHA512256 {
    private static let blockSize = 128

    private static let initial: [UInt64] = [
        0x2231_2194_fc2b_f72c, 0x9f55_5fa3_c84c_64c2, 0x2393_b86b_6f53_b151, 0x9638_7719_5940_eabd,
        0x9628_3ee2_a88e_ffe3, 0xbe5e_1e25_5386_3992, 0x2b01_99fc_2c85_b8aa, 0x0eb7_2ddc_81c5_2ca2,
    ]

    /// The first 64 bits of the fractional parts of the cube roots of the first 80 primes (§4.2.3).
    static let constants: [UInt64] = [
        0x428a_2f98_d728_ae22, 0x7137_4491_23ef_65cd, 0xb5c0_fbcf_ec4d_3b2f, 0xe9b5_dba5_8189_dbbc,
        0x3956_c25b_f348_b538, 0x59f1_11f1_b605_d019, 0x923f_82a4_af19_4f9b, 0xab1c_5ed5_da6d_8118,
        0xd807_aa98_a303_0242, 0x1283_5b01_4570_6fbe, 0x2431_85be_4ee4_b28c, 0x550c_7dc3_d5ff_b4e2,
        0x72be_5d74_f27b_896f, 0x80de_b1fe_3b16_96b1, 0x9bdc_06a7_25c7_1235, 0xc19b_f174_cf69_2694,
        0xe49b_69c1_9ef1_4ad2, 0xefbe_4786_384f_25e3, 0x0fc1_9dc6_8b8c_d5b5, 0x240c_a1cc_77ac_9c65,
        0x2de9_2c6f_592b_0275, 0x4a74_84aa_6ea6_e483, 0x5cb0_a9dc_bd41_fbd4, 0x76f9_88da_8311_53b5,
        0x983e_5152_ee66_dfab, 0xa831_c66d_2db4_3210, 0xb003_27c8_98fb_213f, 0xbf59_7fc7_beef_0ee4,
        0xc6e0_0bf3_3da8_8fc2, 0xd5a7_9147_930a_a725, 0x06ca_6351_e003_826f, 0x1429_2967_0a0e_6e70,
        0x27b7_0a85_46d2_2ffc, 0x2e1b_2138_5c26_c926, 0x4d2c_6dfc_5ac4_2aed, 0x5338_0d13_9d95_b3df,
        0x650a_7354_8baf_63de, 0x766a_0abb_3c77_b2a8, 0x81c2_c92e_47ed_aee6, 0x9272_2c85_1482_353b,
        0xa2bf_e8a1_4cf1_0364, 0xa81a_664b_bc42_3001, 0xc24b_8b70_d0f8_9791, 0xc76c_51a3_0654_be30,
        0xd192_e819_d6ef_5218, 0xd699_0624_5565_a910, 0xf40e_3585_5771_202a, 0x106a_a070_32bb_d1b8,
        0x19a4_c116_b8d2_d0c8, 0x1e37_6c08_5141_ab53, 0x2748_774c_df8e_eb99, 0x34b0_bcb5_e19b_48a8,
        0x391c_0cb3_c5c9_5a63, 0x4ed8_aa4a_e341_8acb, 0x5b9c_ca4f_7763_e373, 0x682e_6ff3_d6b2_b8a3,
        0x748f_82ee_5def_b2fc, 0x78a5_636f_4317_2f60, 0x84c8_7814_a1f0_ab72, 0x8cc7_0208_1a64_39ec,
        0x90be_fffa_2363_1e28, 0xa450_6ceb_de82_bde9, 0xbef9_a3f7_b2c6_7915, 0xc671_78f2_e372_532b,
        0xca27_3ece_ea26_619c, 0xd186_b8c7_21c0_c207, 0xeada_7dd6_cde0_eb1e, 0xf57d_4f7f_ee6e_d178,
        0x06f0_67aa_7217_6fba, 0x0a63_7dc5_a2c8_98a6, 0x113f_9804_bef9_0dae, 0x1b71_0b35_131c_471b,
        0x28db_77f5_2304_7d84, 0x32ca_ab7b_40c7_2493, 0x3c9e_be0a_15c9_bebc, 0x431d_67c4_9c10_0d4c,
        0x4cc5_d4be_cb3e_42b6, 0x597f_299c_fc65_7e2a, 0x5fcb_6fab_3ad6_faec, 0x6c44_198c_4a47_5817,
    ]

    static func hash(_ message: [UInt8]) -> [UInt8] {
        var state = initial
        let padded = MessageDigest.padded(message, blockSize: blockSize, lengthBytes: \.bigEndianBytes)
        for start in stride(from: 0, to: padded.count, by: blockSize) {
            mix(schedule(padded[start..<start + blockSize]), into: &state)
        }
        return state.prefix(4).flatMap(\.bigEndianBytes)
    }

    /// The message schedule (§6.4.2, step 1).
    private static func schedule(_ block: ArraySlice<UInt8>) -> [UInt64] {
        var words = stride(from: block.startIndex, to: block.endIndex, by: 8).map { start in
            block[start..<start + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        for index in 16..<constants.count {
            let (a, b) = (words[index - 15], words[index - 2])
            let first = a.rotated(1) ^ a.rotated(8) ^ a >> 7
            let second = b.rotated(19) ^ b.rotated(61) ^ b >> 6
            words.append(words[index - 16] &+ first &+ words[index - 7] &+ second)
        }
        return words
    }

    /// The rounds (§6.4.2, steps 2 to 4).
    private static func mix(_ words: [UInt64], into state: inout [UInt64]) {
        var s = state
        for step in constants.indices {
            let choice = s[4] & s[5] ^ ~s[4] & s[6]
            let majority = s[0] & s[1] ^ s[0] & s[2] ^ s[1] & s[2]
            let high = s[4].rotated(14) ^ s[4].rotated(18) ^ s[4].rotated(41)
            let low = s[0].rotated(28) ^ s[0].rotated(34) ^ s[0].rotated(39)
            let sum = s[7] &+ high &+ choice &+ constants[step] &+ words[step]
            s = [sum &+ low &+ majority, s[0], s[1], s[2], s[3] &+ sum, s[4], s[5], s[6]]
        }
        for index in state.indices { state[index] &+= s[index] }
    }
}

extension UInt64 {
    /// To the right.
    fileprivate func rotated(_ count: Int) -> UInt64 { self >> count | self << (64 - count) }
}
