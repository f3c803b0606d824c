import Testing

@testable import CurlNetworking

@Suite("Challenge fields (RFC 9110 §11.6.1)")
struct AuthenticationFieldTests {
    typealias Field = AuthenticationField

    static func parse(_ values: String...) -> [Field] {
        Field.challenges(in: values)
    }

    @Test("A challenge has parameters, whose names are compared without regard to case")
    func one() {
        #expect(
            Self.parse(#"Basic realm="simple", Charset=UTF-8"#)
                == [Field(scheme: "Basic", parameters: ["realm": "simple", "charset": "UTF-8"])]
        )
    }

    @Test("The RFC's own example: several challenges in one field, with commas that separate both")
    func example() {
        let value = #"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#
        #expect(
            Self.parse(value) == [
                Field(scheme: "Basic", parameters: ["realm": "simple"]),
                Field(
                    scheme: "Newauth",
                    parameters: ["realm": "apps", "type": "1", "title": #"Login to "apps""#]
                ),
            ]
        )
    }

    @Test("Several fields are one list")
    func severalFields() {
        #expect(Self.parse("Negotiate", "NTLM", #"Basic realm="x""#).map(\.scheme) == ["Negotiate", "NTLM", "Basic"])
    }

    @Test("A challenge may be a scheme alone, between others")
    func alone() {
        let fields = Self.parse(#"Negotiate, Digest realm="r", nonce="n",NTLM"#)
        #expect(fields.map(\.scheme) == ["Negotiate", "Digest", "NTLM"])
        #expect(fields[1].parameters == ["realm": "r", "nonce": "n"])
    }

    @Test("A token68 isn't taken for a parameter, nor a parameter for one")
    func token68() {
        #expect(Self.parse("NTLM TlRMTVNTUAACAAAA==") == [Field(scheme: "NTLM", token68: "TlRMTVNTUAACAAAA==")])
        #expect(
            Self.parse("Negotiate a+/b=, Basic realm=x") == [
                Field(scheme: "Negotiate", token68: "a+/b="), Field(scheme: "Basic", parameters: ["realm": "x"]),
            ]
        )
        #expect(Self.parse("Basic realm=x") == [Field(scheme: "Basic", parameters: ["realm": "x"])])
        #expect(Self.parse("Basic realm = \"x\"") == [Field(scheme: "Basic", parameters: ["realm": "x"])])
    }

    @Test("Commas and equals signs within quotes are text, and so is what is escaped")
    func quotes() {
        #expect(
            Self.parse(#"Digest realm="a, Basic b=\"c\"", nonce="x\\y""#)
                == [Field(scheme: "Digest", parameters: ["realm": #"a, Basic b="c""#, "nonce": #"x\y"#])]
        )
        #expect(Self.parse("Basic realm=\"Größe\"").first?.parameters["realm"] == "Größe")
        #expect(Self.parse(#"Basic realm="""#).first?.parameters == ["realm": ""])
    }

    @Test("A parameter that comes twice has its first value")
    func twice() {
        #expect(Self.parse("Basic realm=a, realm=b, Realm=c").first?.parameters == ["realm": "a"])
    }

    @Test("Empty list elements are nothing")
    func emptyElements() {
        #expect(
            Self.parse(" , ,Basic ,, realm=x ,\t, NTLM,") == [
                Field(scheme: "Basic", parameters: ["realm": "x"]), Field(scheme: "NTLM"),
            ]
        )
    }

    @Test(
        "A challenge that makes no sense is left out, and the rest is found",
        arguments: [
            ("", 0), (",", 0), ("=", 0), ("=x", 0), ("\"", 0), ("\"Basic realm=x", 0), ("realm=x", 0),
            ("(comment), Basic realm=x", 1), ("Basic realm=, NTLM", 2), ("Basic realm=\"open", 1),
            ("Basic \"x\", NTLM", 2),
            ("Basic realm=\"x\"garbage, NTLM", 2), ("Basic realm=x;y=z, NTLM", 2), ("Basic \\, NTLM", 2),
            ("Basic a b c, NTLM", 4),
        ]
    )
    func garbage(value: String, count: Int) {
        #expect(Self.parse(value).count == count)
    }

    @Test("However long and odd the input, it ends, with a bounded result", .timeLimit(.minutes(1)))
    func bounded() {
        #expect(Self.parse(String(repeating: "a,", count: 100_000)).count == 32)
        #expect(
            Self.parse("Basic " + (0..<10_000).map { "p\($0)=x" }.joined(separator: ",")).first?.parameters.count == 32
        )
        _ = Self.parse(String(repeating: "\"\\", count: 100_000))
        var generator = SeededGenerator(seed: 7)
        let alphabet = Array("Basic realm=\"x\\, \t=;/+é\u{0}")
        for _ in 0..<2000 {
            let length = Int.random(in: 0..<60, using: &generator)
            let text = String((0..<length).compactMap { _ in alphabet.randomElement(using: &generator) })
            #expect(Self.parse(text).count <= 32)
        }
    }
}
