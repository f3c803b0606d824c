/// Certificates and keys in PEM, valid for a century where nothing else is said: an authority's, and what it has signed.
///
/// The server's are for "server.test", that in `server` also for 192.0.2.1.
enum TLSSamples {
    static let authority = """
        -----BEGIN CERTIFICATE-----
        MIIBijCCAS+gAwIBAgIUXty3PmkA7Gb1lHXXQ7nTN11kOjkwCgYIKoZIzj0EAwIw
        GTEXMBUGA1UEAwwOVGVzdCBhdXRob3JpdHkwIBcNMjYxMTIyMTYwNjM0WhgPMjEy
        NjEwMjkxNjA2MzRaMBkxFzAVBgNVBAMMDlRlc3QgYXV0aG9yaXR5MFkwEwYHKoZI
        zj0CAQYIKoZIzj0DAQcDQgAEiKmu7Y1cTf+gAD6vmjuziM0zd6Vqq30Td2jUvP46
        s8qwjg9tF7fnNzHzlWFmjjqxNEsrk3u1cAxL3SaEQKMqIqNTMFEwHQYDVR0OBBYE
        FOenezZmbHf2rtiTXVwAs9XB08kCMB8GA1UdIwQYMBaAFOenezZmbHf2rtiTXVwA
        s9XB08kCMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAOITEbST
        ODFud0l07ak6PzGbCqXaZZDHPZ7wMPP7kLE+AiEAs3LMjLHKyzbbnfd+NfP4q5lv
        L8XaGWUYWhMo7JErW2c=
        -----END CERTIFICATE-----
        """

    static let server = """
        -----BEGIN CERTIFICATE-----
        MIIBojCCAUmgAwIBAgIUSFx0TVswNMjVjM796eGt+xBgV+MwCgYIKoZIzj0EAwIw
        GTEXMBUGA1UEAwwOVGVzdCBhdXRob3JpdHkwIBcNMjYxMTIyMTYwNjM0WhgPMjEy
        NjEwMjkxNjA2MzRaMBExDzANBgNVBAMMBnNlcnZlcjBZMBMGByqGSM49AgEGCCqG
        SM49AwEHA0IABDA/LTCmsQbGo7oMq5WXS/bHC2FTRTxLQaKW34VH6rkPX0FJRf5s
        5VSM/YNY2d1d5m7JeV7NhftVI8vr4zz1Or2jdTBzMBwGA1UdEQQVMBOCC3NlcnZl
        ci50ZXN0hwTAAAIBMBMGA1UdJQQMMAoGCCsGAQUFBwMBMB0GA1UdDgQWBBTbRn9S
        XEDP15X8WWbZ9hrQh042sTAfBgNVHSMEGDAWgBTnp3s2Zmx39q7Yk11cALPVwdPJ
        AjAKBggqhkjOPQQDAgNHADBEAiAp6OgALWK2i7ktv8s7dRZoX4aiQFrpkxzgTv4E
        sqBYoQIgK57C3HORpZHHJjYO42jccJAntCG9lAsiRVBlneJvQLI=
        -----END CERTIFICATE-----
        """

    static let serverKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgILOMKped9ALGpYSE
        fdzyfXJ6GlOluu1N2DqByJblDJShRANCAAQwPy0wprEGxqO6DKuVl0v2xwthU0U8
        S0Gilt+FR+q5D19BSUX+bOVUjP2DWNndXeZuyXlezYX7VSPL6+M89Tq9
        -----END PRIVATE KEY-----
        """

    static let expired = """
        -----BEGIN CERTIFICATE-----
        MIIBmzCCAUKgAwIBAgIUSFx0TVswNMjVjM796eGt+xBgV+QwCgYIKoZIzj0EAwIw
        GTEXMBUGA1UEAwwOVGVzdCBhdXRob3JpdHkwHhcNMjYxMTIyMTYwNjM0WhcNMjYx
        MTIzMTYwNjM0WjASMRAwDgYDVQQDDAdleHBpcmVkMFkwEwYHKoZIzj0CAQYIKoZI
        zj0DAQcDQgAEH0ksPNX+DbyWXjyJh68zkI9i4EbpwCELAm3pyKHLyFUXxVAADpYf
        4wChjz9t9WpIuf4bY1ar5N4Y4teuF+goVKNvMG0wFgYDVR0RBA8wDYILc2VydmVy
        LnRlc3QwEwYDVR0lBAwwCgYIKwYBBQUHAwEwHQYDVR0OBBYEFJoXZJvslKMV5tFX
        2Chti7vbF4VMMB8GA1UdIwQYMBaAFOenezZmbHf2rtiTXVwAs9XB08kCMAoGCCqG
        SM49BAMCA0cAMEQCIGKVmnQ8FpJufX1maqOohpMoyMuLpvucadM2hQEIffTGAiAt
        t/cvgPLx1XVfQOzoanYFLECZiXWKlobvMl+Dd9aCyg==
        -----END CERTIFICATE-----
        """

    static let expiredKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgtS5n0gJyJx/Zm4Je
        im8My9CqJ5xkJ0hoUHJ/wD2gxCqhRANCAAQfSSw81f4NvJZePImHrzOQj2LgRunA
        IQsCbenIocvIVRfFUAAOlh/jAKGPP231aki5/htjVqvk3hji164X6ChU
        -----END PRIVATE KEY-----
        """

    static let selfSigned = """
        -----BEGIN CERTIFICATE-----
        MIIBmzCCAUGgAwIBAgIUBrWMzZ5rv4Pj3RDx+6oWPgCtO4EwCgYIKoZIzj0EAwIw
        FjEUMBIGA1UEAwwLc2VydmVyLnRlc3QwIBcNMjYxMTIyMTYwNjM0WhgPMjEyNjEw
        MjkxNjA2MzRaMBYxFDASBgNVBAMMC3NlcnZlci50ZXN0MFkwEwYHKoZIzj0CAQYI
        KoZIzj0DAQcDQgAEazyRlEXsIxfIix6uDHIpFG6oHFpIrJTLYQGt+IxsTAP0Bgur
        a7m7T+zx+5TV0R1GsVw0aR1tEApvWHQUEh4+HqNrMGkwHQYDVR0OBBYEFExGykMv
        HDrEBdFZD2y6LK/wHpPvMB8GA1UdIwQYMBaAFExGykMvHDrEBdFZD2y6LK/wHpPv
        MA8GA1UdEwEB/wQFMAMBAf8wFgYDVR0RBA8wDYILc2VydmVyLnRlc3QwCgYIKoZI
        zj0EAwIDSAAwRQIgFx889G0nYROGw3X6hk9J/SrZTsErmW5EvoG9Ru7HRvgCIQCU
        34K2uf21YGOxYwu0z5TKjkVgz5DfgqS/ZIM0NHUohA==
        -----END CERTIFICATE-----
        """

    static let selfSignedKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgbQ7Z62BEudUjh+6w
        S6FNjAcJ47Y+zxS6IByC/0mKAY+hRANCAARrPJGURewjF8iLHq4McikUbqgcWkis
        lMthAa34jGxMA/QGC6trubtP7PH7lNXRHUaxXDRpHW0QCm9YdBQSHj4e
        -----END PRIVATE KEY-----
        """

    /// For the address 192.0.2.1, though its subject is server.test; self-signed, with `selfSignedKey`.
    static let address = """
        -----BEGIN CERTIFICATE-----
        MIIBlTCCATqgAwIBAgIUYpVzcC5wvYan8myuQHO4LseVHOMwCgYIKoZIzj0EAwIw
        FjEUMBIGA1UEAwwLc2VydmVyLnRlc3QwIBcNMjYxMTMwMTAzODQyWhgPMjEyNjEx
        MDYxMDM4NDJaMBYxFDASBgNVBAMMC3NlcnZlci50ZXN0MFkwEwYHKoZIzj0CAQYI
        KoZIzj0DAQcDQgAEazyRlEXsIxfIix6uDHIpFG6oHFpIrJTLYQGt+IxsTAP0Bgur
        a7m7T+zx+5TV0R1GsVw0aR1tEApvWHQUEh4+HqNkMGIwHQYDVR0OBBYEFExGykMv
        HDrEBdFZD2y6LK/wHpPvMB8GA1UdIwQYMBaAFExGykMvHDrEBdFZD2y6LK/wHpPv
        MA8GA1UdEwEB/wQFMAMBAf8wDwYDVR0RBAgwBocEwAACATAKBggqhkjOPQQDAgNJ
        ADBGAiEAp0rpRX/hQz8sMIH8xy7dHUqOz9wR+dupIyadLlyUwPcCIQDpDjE76Yfo
        R7Zb1IgDnUPExFFmx3A4a2gFka5tw3RApg==
        -----END CERTIFICATE-----
        """

    /// For each name in the domain names_of.server.test, and self-signed, with `selfSignedKey`.
    static let wildcard = """
        -----BEGIN CERTIFICATE-----
        MIIBoDCCAUagAwIBAgIUSVXMDcj8RoEiFarweUMLc/I92b0wCgYIKoZIzj0EAwIw
        EzERMA8GA1UEAwwIYSBzZXJ2ZXIwIBcNMjYxMTMwMjAwNjIyWhgPMjEyNjExMDYy
        MDA2MjJaMBMxETAPBgNVBAMMCGEgc2VydmVyMFkwEwYHKoZIzj0CAQYIKoZIzj0D
        AQcDQgAEazyRlEXsIxfIix6uDHIpFG6oHFpIrJTLYQGt+IxsTAP0Bgura7m7T+zx
        +5TV0R1GsVw0aR1tEApvWHQUEh4+HqN2MHQwHQYDVR0OBBYEFExGykMvHDrEBdFZ
        D2y6LK/wHpPvMB8GA1UdIwQYMBaAFExGykMvHDrEBdFZD2y6LK/wHpPvMA8GA1Ud
        EwEB/wQFMAMBAf8wIQYDVR0RBBowGIIWKi5uYW1lc19vZi5zZXJ2ZXIudGVzdDAK
        BggqhkjOPQQDAgNIADBFAiEAmc7yEZl6GxsZW5HZz5dePzEuMcagH8ZfvBqNh3I6
        zgUCIDNpgL+UIkVNLUwthXvISEmmbnt+/i6p7TBdGV4jfRxK
        -----END CERTIFICATE-----
        """

    /// The same, for server.test and each name in the domain wild.test, both written as absolute names.
    static let absolute = """
        -----BEGIN CERTIFICATE-----
        MIIBpDCCAUqgAwIBAgIURZtrat0KGEj891aZL114u1iH1r0wCgYIKoZIzj0EAwIw
        EzERMA8GA1UEAwwIYSBzZXJ2ZXIwIBcNMjYxMjAxMDAzMjI3WhgPMjEyNjExMDcw
        MDMyMjdaMBMxETAPBgNVBAMMCGEgc2VydmVyMFkwEwYHKoZIzj0CAQYIKoZIzj0D
        AQcDQgAEazyRlEXsIxfIix6uDHIpFG6oHFpIrJTLYQGt+IxsTAP0Bgura7m7T+zx
        +5TV0R1GsVw0aR1tEApvWHQUEh4+HqN6MHgwHQYDVR0OBBYEFExGykMvHDrEBdFZ
        D2y6LK/wHpPvMB8GA1UdIwQYMBaAFExGykMvHDrEBdFZD2y6LK/wHpPvMA8GA1Ud
        EwEB/wQFMAMBAf8wJQYDVR0RBB4wHIIMc2VydmVyLnRlc3QuggwqLndpbGQudGVz
        dC4wCgYIKoZIzj0EAwIDSAAwRQIgeJ8NFDl0c4QXkFZrzRPVvN3UggahAZmJN+Fz
        mf1++R0CIQCtp/FdNz+2lvDqb5tLhUAMp0mozCwh64nyfftj9wpWHQ==
        -----END CERTIFICATE-----
        """

    /// The same, for nothing but its subject, 192.0.2.1.
    static let subjectAddress = """
        -----BEGIN CERTIFICATE-----
        MIIBfjCCASWgAwIBAgIUY9kMpgl91XXODKeiqL41sNPysf4wCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJMTkyLjAuMi4xMCAXDTI2MTEzMDIwMDYyMloYDzIxMjYxMTA2
        MjAwNjIyWjAUMRIwEAYDVQQDDAkxOTIuMC4yLjEwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAARrPJGURewjF8iLHq4McikUbqgcWkislMthAa34jGxMA/QGC6trubtP
        7PH7lNXRHUaxXDRpHW0QCm9YdBQSHj4eo1MwUTAdBgNVHQ4EFgQUTEbKQy8cOsQF
        0VkPbLosr/Aek+8wHwYDVR0jBBgwFoAUTEbKQy8cOsQF0VkPbLosr/Aek+8wDwYD
        VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiA0pIzdgXg22WFfCTafaTFM
        4GheFCxeHdULhBOs62zsagIgGz3bG/mljL9AOC1LAa+/4H/aTHt8tmpzqFlzC9YZ
        Bi8=
        -----END CERTIFICATE-----
        """

    static let client = """
        -----BEGIN CERTIFICATE-----
        MIIBhjCCASugAwIBAgIUSFx0TVswNMjVjM796eGt+xBgV+UwCgYIKoZIzj0EAwIw
        GTEXMBUGA1UEAwwOVGVzdCBhdXRob3JpdHkwIBcNMjYxMTIyMTYwNjM0WhgPMjEy
        NjEwMjkxNjA2MzRaMBExDzANBgNVBAMMBmNsaWVudDBZMBMGByqGSM49AgEGCCqG
        SM49AwEHA0IABNw5eJBFbEnpowY9IuNN2FlbFgB6rSL7xBt5WtSh1KbY/VOvb8pV
        7Yp7ZGP3m3GRk8EygCcBm8Ax9wZVx/1UeuKjVzBVMBMGA1UdJQQMMAoGCCsGAQUF
        BwMCMB0GA1UdDgQWBBQJTFH4i8oyiUFv36mbEpBBaP2b+DAfBgNVHSMEGDAWgBTn
        p3s2Zmx39q7Yk11cALPVwdPJAjAKBggqhkjOPQQDAgNJADBGAiEAgestw8vqb2Vk
        7PBhbfIPluucKZ7oCYpRj1ZB/d1bangCIQDiRIdnOJtgFAOb+QfJYxzGixxOoJr+
        CYg897ce2QMzvg==
        -----END CERTIFICATE-----
        """

    static let clientKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgIIYTg1K+OQk+Ajrb
        vObljjnzw9NMpYS0+Wf1mHhDNUuhRANCAATcOXiQRWxJ6aMGPSLjTdhZWxYAeq0i
        +8QbeVrUodSm2P1Tr2/KVe2Ke2Rj95txkZPBMoAnAZvAMfcGVcf9VHri
        -----END PRIVATE KEY-----
        """

    static let lockedClientKey = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiOWWhYfweBgQICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEAHUxvpTeROqanPL2xSSeG8EgZBw
        XnrRlAD1XywcvcKuFklKEVEefMw3q7kP4s16YL1EPCBbd6b0FplLG3vkDPDKpchp
        WNOK19XAHAd9WHLKQCqSgopgVnNbanzpJR8BjSwgff6KtoODu2l0UGmGwLWIp9RP
        4TE/FRzYd2aaeJwaJFk05Qu6JeFmU3IuaEOGRsmbYuwaZUB/IhFnpK26k8wXP6Y=
        -----END ENCRYPTED PRIVATE KEY-----
        """

    /// Certificate, key and authority as PKCS #12, locked with `passphrase` like `lockedClientKey`.
    static let clientBundle = """
        MIIFzAIBAzCCBYIGCSqGSIb3DQEHAaCCBXMEggVvMIIFazCCBCIGCSqGSIb3DQEHBqCCBBMwggQP
        AgEAMIIECAYJKoZIhvcNAQcBMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAh7FscCxgC3
        cwICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEOYE3rEGDFcamkElDD6e/3aAggOgSCDh
        vFI5n6W5e/YSyiyOS9k6endM+/voFRQeFek8GRj6y0abQYjKwNja740BiQZ/HruZOFJ/vjsWweOB
        hKAMaLIH/PaFfLn1f+2+fHhqPvGWyZzxo90uMcBeyXuLOroNezDhOfR6WeGhDmTX6HaD3B4Yfi0U
        clAkbIU+WzqK2GyjKb9080yHc5ur4qKcP8Kbs6FaeR9g8I3awKzCza679U7f7qMypmlmGsIo+yR3
        DUh78DnRSkmhZ/53MGxFmJEa2qYvXYMSe2Q2jyWby+PhguHH7A5xKpILTX+71EcaotKUHwfOVuwz
        mSobCdQhrSSVtSXK0/E1/5IjnRG3iyOIevUT2/IxNflR+W9JggEo48KksrFKzwxnda3HlkcdZUtz
        jTjjmbW/uhobDbmAZQcaw3AMPKUXmTlgrcrP+eSAKs2SDsVWdlDL+2fTEjsgroZPNTHcLCx5+LSE
        Ph2nVOrrVjjU4ctIZQ7jJ9A/PpK97MhmGQe3o8id0yoddfFiOx1InjrR0ArvSncGZjqtdCiQQqaw
        7HoyO+/kNd+arvmMH/zvKd+fjGCpEg5VF4OO/t4WD4jx6eW8efzZW4eGV8660lRAFKP30PrulFSd
        LNt5ejcCuE1FE70tYquW2NVmM8pGWQo5QnW90sC1A/nMMwqsvzShnIn1Dkma6ZUnht1g9QshGEt8
        HgU2F+pqGeE9sAMRAyRJGs0jxcizAS8BHiW0SpQuMNbd2clKI4NnTAx92y/LdhHqCDKMvvkXnq2u
        PSemj019Ikdu82fIxMMf2BEPVcOncGBGniJC9ceHX6Aoho6bKMwqKrbRs8dl5R5oaN6kKHidkbVR
        NthnTcMyyEzAtcR2BtPk/RBXRC6xXJeMxUFlS0OYgXUoMDZftqyibYHhV+jMNU3Annr7TngFFoWq
        EgJzOkbqOGItusx9I75pIR212bULZNTrP96ZwYS46nczt10hc0swIbYx8UsJtQcTjXplO+79sE4A
        /gBeRqKAeqpQY6zq5KJAh3Q13KcHWzO54qVHL3nCpYu5EYjEPB+IasDm+MvcNBtJl1ga2mUd6m03
        D68A6N/laY0pFpPEtC8/CK7o0waOuqtgsnrHqercXGe31+yaEKcnbwX/ej20UwUGxRPUb6jAHLJw
        sd9NIlOnegXC4+Z4lxlusoXthG6e3dScOFCZJaPoC4DVx6dLWhirKtiNlmbut+HrEPwxsVRefmFt
        kMMbyVhLZ2KQzsGeJjCCAUEGCSqGSIb3DQEHAaCCATIEggEuMIIBKjCCASYGCyqGSIb3DQEMCgEC
        oIHvMIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAije0q5YSa7qgICCAAwDAYIKoZI
        hvcNAgkFADAdBglghkgBZQMEASoEEP643Teo0aR1qGgxR/pBnlgEgZCIZt6mmwbpo0Qmzlv2HS2p
        3ZNYWFSEj4jttj6A+9WERYNIn/Y34GTAMqtEvm68NQ0iTgFf4P9IwvE8CJAWW6FjL7pCAf38oikT
        HZ5d4nJFspwZOILRZlpHIJHBV7A1CfxdpNYwmzYNSU4xe+pqTqKdX4cxBpPpEYVEfSuaidLdVRZ6
        MCMuxQYFNSjrnIhjlj0xJTAjBgkqhkiG9w0BCRUxFgQU3sg1m3x9bX7TMkJknwFR2D+P618wQTAx
        MA0GCWCGSAFlAwQCAQUABCB8tIhRTeaarlZS7ICfA5qUSOONIrEItlduMFRk8VIGKQQI8I8PaHqL
        u+0CAggA
        """

    static let passphrase = "secret"
    /// Of the key in `server`.
    static let pin = "sha256//c+ooQ2238jSjv2nHnD828mSpVPeLP/FDCEdHNOy0nDY="
}
