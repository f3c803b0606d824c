import Foundation

/// A body in each coding, made with zlib, brotli and zstd themselves.
package enum CodedBodies {
    /// What they all decode to.
    package static let text = Data(
        String(repeating: (0..<300).map { "\($0) \($0 * $0 % 997)\n" }.joined(), count: 20).utf8
    )

    /// RFC 1952.
    package static let gzip = decode(
        """
        H4sIAAAAAAACA+2W25XFIAwD/10FJcQ2z/4b29FtY/XFIQkGY8mZb3yRI6PGjB4v5sgda9SKPXrHGfPFHXvGGzcjv5EfC1hRzGrknJHNmhfJ0r
        cjWczq3MRgdkZd3t3RxZePmOz1jUmUyjEnM7a+M6rHqhc1xzo7ao1NlNpja3bG0bs7jr7kKKzrbzyidI5HzK5RJ5oUKpqTrBetk9xoTvKYndGH
        d5dN+fCx24z5jf11zBybwLPG2Sdmj7sq5hyvuZA1OmNuMuYZ6eSKSTr5xXzkcWJ9Y31cGkE0IwjvFkH4chGEdYsgMxZBJs8Ism4sgpyORZD3xd
        ZJXuwcp5kVR+jYpHNubPL5GMinT2wVhtlh14xNcajTfuMQ7HAnWXFycPeH8pD4afaecSb7ZBwudn5x9jianfH07rIByx4Ho9yUJ29cghxm5DMr
        LkchuzvZJy4nmTvu5kNmnIQMLtXZK+4jZMVDKVzwy9Hfiqca33hNOTveHHd/8RY1iEd5Js9QGnk8pZPxKDGlQ2ssZ0gyl/oIwz3mRxxKkx+BOE
        d+RNLXhJIQP2LdYiTYO4wcKVkm9bJHIt9ePEe/60rN1IpDJgpuDWS39TnpPc2lPsIj4rebkWtCNCkZkylOQD2aF7UmPErOw3qkPH8u4coP2yDm
        95sf3rM9cp6t9Y/1HFuCnuyDoosiJpKeh/0R9aFkKVlr4HhHn++xluaHu2L7VhEJj7Qb0aS0rSwR92vNcYg8iLzXJ7tSSvkVgV+9RlYKi8Q3Ps
        mpbLWcbDVK5Vv2ToqnOeqilonQp7ZD6edyWqSuO0fr89NjXR6nktqJjtpbbUFyV27o/ekQCL7xSaL4jT0TyT/dIZrvT+9pBK3nCFZ3iexb4dH9
        xlIp4ePgRPmtWqH9fdgW8SfbIv7W4VH/SX1OOD1GKNoV/R9VBAOkdpEDdCoscHWFV1dHrphg6a5wwVuEwQddeq9wek6yHOKqx6jpScWEwQulw2
        KGpULjhqcrxg6NDxI/HCWNIVKXhCWWZI8nnrZ96p4kgysOxqxP3qJ/YotVaqcSHn0RWzSCKmxxiFPYgnIxEm/ruS6PpvqpFs2onq4+zPm0Dl9s
        ug7iQxkMEgphU42QMPiit16rd+g5fay1HJth/MIXOJF+jlJoKoUv3tVcrlWfx2Zq5viiSyPF0HHwRam744uNbenZtEni4ouFlNiDkUHZ8hhbPO
        xW2GIqO2zxdCv4op/ebwSq5zT81vJLloTFF8XPofDFQRqFL4oilro+/qAJcQyOJV8k8fFFKZ2p4uo5tv2tJ91LXIyRGjHGvvpj8VPU/hhj63Yx
        BhViJB7VZy/i6z3Xp+vQb2BqvfomcbFGKX2scbVuS8r6BfIvoC0U1mhdn6xB+ymsMVvvaStbz/VD0HrUxzY4Y6Hpwhl0LEaKi9gKZyAIRrqKrk
        /W0HZY4y69l3Gpnn4NS+vvWFiGljNULKyxacF1lS2n0u9Bt401+veLpiXrtrDG3HpPOA6FM7aiYI3U5Vz9r9gNazQ/gXpqUjzHGkunxRq0ccbJ
        ZeqXz+XpkrHGVVb6XRx9z+WxO87Y7PYZZgwzhhnDjGHGMGOYMcwYZgwzhhnDjGHGMGOYMcwYZgwzhhnDjGHGMGOYMcwYZgwzhhnDjGHGMGOYMc
        wYZgwzhhnDjGHGMGOYMcwYZgwzhhnDjGHGMGOYMcwYZgwzhhnDjGHGMGOYMcwYZgwzhhnDjGHGMGOYMcwYZgwzhhnDjGHGMGOYMcwYZgwzhhnD
        jGHGMGOYMcwYZgwzhhnDjGHGMGOYMcwYZgwzhhnDjGHGMGOYMcwYZgwzhhnDjGHGMGOYMcwYZgwzhhnDjGHGMGOYMcwYZgwzhhnDjGHGMGOYMc
        wYZgwzhhnDjGHGMGOYMcwYZgwzhhnDjGHGMGOYMcwYZgwzhhnDjGHGMGOYMcwYZgwzhhnDjGHGMGOYMcwYZgwzhhnDjGHGMGOYMcwYZgwzhhnD
        jGHmP8HMHzP8mFcEsAAA
        """
    )

    /// With the zlib wrapper (RFC 1950).
    package static let wrappedDeflate = decode(
        """
        eNrtltuVxSAMA/9dBSXENs/+G9vRbWP1xSEJBmPJmW98kSOjxoweL+bIHWvUij16xxnzxR17xhs3I7+RHwtYUcxq5JyRzZoXydK3I1nM6tzEYH
        ZGXd7d0cWXj5js9Y1JlMoxJzO2vjOqx6oXNcc6O2qNTZTaY2t2xtG7O46+5Cis6288onSOR8yuUSeaFCqak6wXrZPcaE7ymJ3Rh3eXTfnwsduM
        +Y39dcwcm8CzxtknZo+7KuYcr7mQNTpjbjLmGenkikk6+cV85HFifWN9XBpBNCMI7xZB+HIRhHWLIDMWQSbPCLJuLIKcjkWQ98XWSV7sHKeZFU
        fo2KRzbmzy+RjIp09sFYbZYdeMTXGo037jEOxwJ1lxcnD3h/KQ+Gn2nnEm+2QcLnZ+cfY4mp3x9O6yAcseB6PclCdvXIIcZuQzKy5HIbs72Scu
        J5k77uZDZpyEDC7V2SvuI2TFQylc8MvR34qnGt94TTk73hx3f/EWNYhHeSbPUBp5PKWT8SgxpUNrLGdIMpf6CMM95kccSpMfgThHfkTS14SSED
        9i3WIk2DuMHClZJvWyRyLfXjxHv+tKzdSKQyYKbg1kt/U56T3NpT7CI+K3m5FrQjQpGZMpTkA9mhe1JjxKzsN6pDx/LuHKD9sg5vebH96zPXKe
        rfWP9Rxbgp7sg6KLIiaSnof9EfWhZClZa+B4R5/vsZbmh7ti+1YRCY+0G9GktK0sEfdrzXGIPIi81ye7Ukr5FYFfvUZWCovENz7JqWy1nGw1Su
        Vb9k6KpznqopaJ0Ke2Q+nnclqkrjtH6/PTY10ep5LaiY7aW21Bcldu6P3pEAi+8Umi+I09E8k/3SGa70/vaQSt5whWd4nsW+HR/cZSKeHj4ET5
        rVqh/X3YFvEn2yL+1uFR/0l9Tjg9RijaFf0fVQQDpHaRA3QqLHB1hVdXR66YYOmucMFbhMEHXXqvcHpOshziqseo6UnFhMELpcNihqVC44anK8
        YOjQ8SPxwljSFSl4QllmSPJ562feqeJIMrDsasT96if2KLVWqnEh59EVs0gipscYhT2IJyMRJv67kuj6b6qRbNqJ6uPsz5tA5fbLoO4kMZDBIK
        YVONkDD4ordeq3foOX2stRybYfzCFziRfo5SaCqFL97VXK5Vn8dmaub4oksjxdBx8EWpu+OLjW3p2bRJ4uKLhZTYg5FB2fIYWzzsVthiKjts8X
        Qr+KKf3m8Equc0/NbyS5aExRfFz6HwxUEahS+KIpa6Pv6gCXEMjiVfJPHxRSmdqeLqObb9rSfdS1yMkRoxxr76Y/FT1P4YY+t2MQYVYiQe1Wcv
        4us916fr0G9gar36JnGxRil9rHG1bkvK+gXyL6AtFNZoXZ+sQfsprDFb72krW8/1Q9B61Mc2OGOh6cIZdCxGiovYCmcgCEa6iq5P1tB2WOMuvZ
        dxqZ5+DUvr71hYhpYzVCyssWnBdZUtp9LvQbeNNfr3i6Yl67awxtx6TzgOhTO2omCN1OVc/a/YDWs0P4F6alI8xxpLp8UatHHGyWXql8/l6ZKx
        xlVW+l0cfc/lsTvO2Oz2GWYMM4YZw4xhxjBjmDHMGGYMM4YZw4xhxjBjmDHMGGYMM4YZw4xhxjBjmDHMGGYMM4YZw4xhxjBjmDHMGGYMM4YZw4
        xhxjBjmDHMGGYMM4YZw4xhxjBjmDHMGGYMM4YZw4xhxjBjmDHMGGYMM4YZw4xhxjBjmDHMGGYMM4YZw4xhxjBjmDHMGGYMM4YZw4xhxjBjmDHM
        GGYMM4YZw4xhxjBjmDHMGGYMM4YZw4xhxjBjmDHMGGYMM4YZw4xhxjBjmDHMGGYMM4YZw4xhxjBjmDHMGGYMM4YZw4xhxjBjmDHMGGYMM4YZw4
        xhxjBjmDHMGGYMM4YZw4xhxjBjmDHMGGYMM4YZw4xhxjBjmDHMGGYMM4YZw4xhxjBjmDHMGGYMM4YZw4xhxjBjmDHMGGYMM4YZw4xh5j/BzB+O
        4TFr
        """
    )

    /// Without it (RFC 1951).
    package static let bareDeflate = decode(
        """
        7ZbblcUgDAP/XQUlxDbP/hvb0W1j9cUhCQZjyZlvfJEjo8aMHi/myB1r1Io9escZ88Ude8YbNyO/kR8LWFHMauSckc2aF8nStyNZzOrcxGB2Rl
        3e3dHFl4+Y7PWNSZTKMScztr4zqseqFzXHOjtqjU2U2mNrdsbRuzuOvuQorOtvPKJ0jkfMrlEnmhQqmpOsF62T3GhO8pid0Yd3l0358LHbjPmN
        /XXMHJvAs8bZJ2aPuyrmHK+5kDU6Y24y5hnp5IpJOvnFfORxYn1jfVwaQTQjCO8WQfhyEYR1iyAzFkEmzwiybiyCnI5FkPfF1kle7BynmRVH6N
        ikc25s8vkYyKdPbBWG2WHXjE1xqNN+4xDscCdZcXJw94fykPhp9p5xJvtkHC52fnH2OJqd8fTusgHLHgej3JQnb1yCHGbkMysuRyG7O9knLieZ
        O+7mQ2achAwu1dkr7iNkxUMpXPDL0d+KpxrfeE05O94cd3/xFjWIR3kmz1AaeTylk/EoMaVDayxnSDKX+gjDPeZHHEqTH4E4R35E0teEkhA/Yt
        1iJNg7jBwpWSb1skci3148R7/rSs3UikMmCm4NZLf1Oek9zaU+wiPit5uRa0I0KRmTKU5APZoXtSY8Ss7DeqQ8fy7hyg/bIOb3mx/esz1ynq31
        j/UcW4Ke7IOiiyImkp6H/RH1oWQpWWvgeEef77GW5oe7YvtWEQmPtBvRpLStLBH3a81xiDyIvNcnu1JK+RWBX71GVgqLxDc+yalstZxsNUrlW/
        ZOiqc56qKWidCntkPp53JapK47R+vz02NdHqeS2omO2lttQXJXbuj96RAIvvFJoviNPRPJP90hmu9P72kErecIVneJ7Fvh0f3GUinh4+BE+a1a
        of192BbxJ9si/tbhUf9JfU44PUYo2hX9H1UEA6R2kQN0KixwdYVXV0eumGDprnDBW4TBB116r3B6TrIc4qrHqOlJxYTBC6XDYoalQuOGpyvGDo
        0PEj8cJY0hUpeEJZZkjyeetn3qniSDKw7GrE/eon9ii1VqpxIefRFbNIIqbHGIU9iCcjESb+u5Lo+m+qkWzaierj7M+bQOX2y6DuJDGQwSCmFT
        jZAw+KK3Xqt36Dl9rLUcm2H8whc4kX6OUmgqhS/e1VyuVZ/HZmrm+KJLI8XQcfBFqbvji41t6dm0SeLii4WU2IORQdnyGFs87FbYYio7bPF0K/
        iin95vBKrnNPzW8kuWhMUXxc+h8MVBGoUviiKWuj7+oAlxDI4lXyTx8UUpnani6jm2/a0n3UtcjJEaMca++mPxU9T+GGPrdjEGFWIkHtVnL+Lr
        Pden69BvYGq9+iZxsUYpfaxxtW5LyvoF8i+gLRTWaF2frEH7KawxW+9pK1vP9UPQetTHNjhjoenCGXQsRoqL2ApnIAhGuoquT9bQdljjLr2Xca
        mefg1L6+9YWIaWM1QsrLFpwXWVLafS70G3jTX694umJeu2sMbcek84DoUztqJgjdTlXP2v2A1rND+BempSPMcaS6fFGrRxxsll6pfP5emSscZV
        VvpdHH3P5bE7ztjs9hlmDDOGGcOMYcYwY5gxzBhmDDOGGcOMYcYwY5gxzBhmDDOGGcOMYcYwY5gxzBhmDDOGGcOMYcYwY5gxzBhmDDOGGcOMYc
        YwY5gxzBhmDDOGGcOMYcYwY5gxzBhmDDOGGcOMYcYwY5gxzBhmDDOGGcOMYcYwY5gxzBhmDDOGGcOMYcYwY5gxzBhmDDOGGcOMYcYwY5gxzBhm
        DDOGGcOMYcYwY5gxzBhmDDOGGcOMYcYwY5gxzBhmDDOGGcOMYcYwY5gxzBhmDDOGGcOMYcYwY5gxzBhmDDOGGcOMYcYwY5gxzBhmDDOGGcOMYc
        YwY5gxzBhmDDOGGcOMYcYwY5gxzBhmDDOGGcOMYcYwY5gxzBhmDDOGGcOMYcYwY5gxzBhmDDOGGcOMYcYwY5gxzBhmDDOGGcOMYeY/wcwf
        """
    )

    /// With a window of 4 MiB.
    package static let brotli = decode(
        """
        GwOw+B0JdqzFonTjjdxw9pf0ECcgCBNxKDXpLoyxfc5iTLVSi1eDnUWI9wR4//v88/Xrm7/f+sfsH8v5ae6v8n6L/9/gOS8wDhJwdEHHH3LaWI
        EHi21E3MdJXFQ66akXNEpJUHeJLj7JTdNqPLJOUww+nblL9ZTMsy+YsU4GIgwtGDn7mRVYxqKfiUwxpzRMXVzW0++wRt9lwXhY9LZYsvyslcOy
        g2JFzGOdnGBVvWE/9zV79Bs2zASb3jy2LIq9Umw7euyIXfbJHHZVg/P0+5wxDA68PRzaLEfOW84KDsfSy4n7knOazanJ4T47xR3XXDj9XEpdrl
        STu1rBtWlyY3W557ziVuznPTXLGzefB6Pi0b7hyYS3Qs2zmuHFbfDO+PFqVfzn4PJHvseHuuVT5/DlOfjrgm+hw49i808z+fWweCEfXgomXile
        vKP58a6nxnvu4bXwxxt1hbe6g/ftXEw4bEzKHUy5F5jjvYe5cjFP+GJa9WHGYDFrfTBfvAOEUgGp7wBl0cBxcoGrkMDTCaAtEhgnA6xiAV/fB8
        NqwRRTYKk88BgFeJ0HPpEPtrsBjocDrvMS/DILhd6B0nKhErjQcd+HrmlDzzuoZT40OgWt9UBfeLDhurHpebDl5GCPymKvuYd9NthWb7FjkNiV
        xX65DYfOg9O24ZIo+GgNfG0u/ORruDUHHpuAV76Fv9ZDwt5FUmKR0knkOEWudCPPzENaFxmFQtZkkO9wcKHauPR2cCVwcMe9xV27D/ckBte6ix
        sj3Cp93PfQaIi3aLr30bIp9EgHeo0GfQ4/2i4DHYuDrkSi38zSCwdBL10kvbK49I5k0buGn95zNum166I3No/eyh5635ugCcGiSb2Hpkxpjvsu
        zbVMmid9aNr00oxg0Kz2o/nOe4RwdQlp7xFKMQnHSxOuRBOeySO0wCeMviKsoyB8t0MMt8R0EcSyd4hHbRKvnSU+2SC25ySO5BDXmyJ+0SKFSZ
        JS7COV4ZKOQJOumUN64j1S6zZpnBZp9Q3pOze0oa9p02nQlu6hPeIl7TVvaZ9A0LZh0o7Q0K5x0X5xRQ7vJTklHrk8LfnINPnad8hP8ZHbusnj
        viKveuTvZijhzKekdlBKvKYcs0m58iXleRuUVu9Sxu5Q1p1H+WbpQvPSpdOlK+OkOxKf7nptuqe8dK1AN3oe3To9dN8kqCG3qGl5qOXOpx7nDf
        XqXuoT19T2MtRROdQ1Q/3aiwM=
        """
    )

    /// The same with one of 256 KiB, which the first byte says (RFC 7932 §9.1).
    package static let brotliOfSmallWindow = Data([0x13]) + brotli.dropFirst()

    /// With a checksum.
    package static let zstd = decode(
        """
        KLUv/WQEr9UaAKprSAwJoO3wW2tgqsJGwgDDAMAAvQwwZDLAy8dgCq9BzC0GGXYYRNJZMDdjAVa/giLZCmiugjanghJ8CkLuFlzYUmBRR8EFnQ
        QhMxKU9CNoZSOQuQhyciJo4UNwdpeA0BaCCTsIqHUOHNE40JtvILPbALbXQJZMA81n4HoHxHIZiMhjQAjPAuGNhex9BTvbClW7CnY1FbL1FAjp
        FoRoKUTQURCbU4A6o0BiPwGrbgLVXgKWMgmkySNAJFdAKotAhBwCgieQjZD0gc0G1QtMJsgH6IIsEEfXCIRMQffU0a10QcpjBBLt7NB4J580tz
        i7pDTRyWPNO2hLiY5Gz7EcsfdV0kbWSwRqpgp8AutezWIjhwiQ5HlpY5G+tG4hgHUZ4ZRjDw1dmS4hEHOEABbPBBkbE2zoSxjqltC6EsJwSpiz
        JwGRbkLFLAlUORJKeSKU3YgQWR/CCW0IRr0Q7iaEi3wQSncR8mpBQKEDIavnQUPGA6L8DiRvOwiy60CSpgOieQ4y5R5YLQeVPA7m7jSwsdFAoj
        4DtNkMbgIlkxNFPVLIu1O2dHpIIQTPyRnr8qvVJiVXzk2deah5pbVE5YgCyp3SGaf5xdSWI9fRTWHz9PIm1oLRIwWseCbRiAJ0H6Zt17mqckKs
        Z9p7hYslHThy3t3Y0ncCaVvJXWYznUDKI2cXOwthHidQZCfGjHH53dhmMRddTkf2tHMtc6mzwwSs5iyBnFF6HwZtJXB5Fd6ER8+c3DNczOoo63
        mWY8++vNlIAPGyvCmjHmovTi5XdpAA3pwSMk7xi6otrwGAZqfcOEffHW6GvShtupAnpe5MLq05shB356SMJfaVNjS6LHHKziN2F1MWGjuwUHeW
        1HiVHwVtUXhJzCR1j0VvmC0pclzhrs6gsVGfWW41dE3kZDcPEt7qLBJ4GPas3XjUT+a2aC+MmyT6TNqNlMXQjkI5D21symdpW0WvkZusfXDuVn
        WRu4OyZwXHm/nEcIucCyUnKXoG80ZriSlc1hkkY9G+bLe6u6wz2eEjQ7cwF6I6GnKW2RjTj/K2sTmAsqghBBYyJaVqY+/w2Tvi3////38DNCdo
        pMCgIV1/ACLTltuZUTMCZBcgdD2TUeeXiSYJhiCvd4J5cEL4wbRCq9pkFUvgxIA=
        """
    )

    /// 64 MiB of zeros, twice through gzip.
    package static let doublyZippedZeros = decode(
        """
        H4sIAAAAAAACA+3cr05CcRTA8YtcNyYbYiAZ5BGIFAYazAbNjgcgkmVzJgsvQWZjc7PSeAO02f0TnDM5L9z7GL/z+aSTTzw7+549NrLSQf1jXa
        vth9n8f/nVOMoAAACAxM1e7+vlMSDrFtvLqxsAAAAgdePjVl4dBf5uT8+tAwAAAJL3MOi3qw+B77tJbh0AAACQvM7v26i6BWyKp5Nr+wAAAIDk
        vQgGAAAAQCiCAQAAABCLYAAAAADEIhgAAAAAwQgGAAAAQCyCAQAAABCLYAAAAADEIhgAAAAAwQgGAAAAQCyCAQAAABDLYtDvlo8B7Z9iOrw4zA
        AAAIjkufnZe1/th3wHPEzs+uL+AAA=
        """
    )

    private static func decode(_ text: String) -> Data {
        Data(base64Encoded: text, options: .ignoreUnknownCharacters) ?? Data()
    }
}
