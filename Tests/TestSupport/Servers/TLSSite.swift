import Foundation

/// Certificates of every kind, good and bad, made with openssl for one run of the tests, in a directory that the caller removes.
package struct TLSSite: Sendable {
    /// What a server can show.
    package enum Certificate: String, Sendable, CaseIterable {
        /// For 127.0.0.1 and localhost, like all except `wronghost`; signed by `authority`, like all except `unknown` and
        /// `selfsigned`.
        case good, expired, early, wronghost, revoked, unknown, selfsigned
    }

    package let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("tls-tests-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        guard try Spawn.run(Self.script, [directory.path], log: file("log").path) == .exit(0) else {
            let text = (try? String(contentsOf: file("log"), encoding: .utf8)) ?? ""
            throw ChildProcess.Failure(description: "The certificates could not be made: \(text)")
        }
    }

    package func file(_ name: String) -> URL { directory.appendingPathComponent(name) }
    package func data(_ name: String) throws -> Data { try Data(contentsOf: file(name)) }

    package func certificate(_ certificate: Certificate) -> URL { file("\(certificate.rawValue).pem") }
    package func key(_ certificate: Certificate) -> URL { file("\(certificate.rawValue).key") }

    package var authority: URL { file("authority.pem") }
    /// The same in DER.
    package var authorityInDER: URL { file("authority.der") }
    /// The same, under its hash.
    package var authorities: URL { file("authorities") }
    /// Trusted by no one.
    package var foreignAuthority: URL { file("foreign.pem") }
    package var revocationList: URL { file("revoked.crl") }

    package var client: URL { file("client.pem") }
    package var clientKey: URL { file("client.key") }
    /// Encrypted with `passphrase`, and so is `clientBundle`.
    package var lockedClientKey: URL { file("locked.key") }
    package var clientBundle: URL { file("client.p12") }
    /// Certificate and key.
    package var clientWithKey: URL { file("both.pem") }
    package static let passphrase = "secret"

    /// The pin of the key in `good`.
    package func goodPin() throws -> String {
        try "sha256//" + String(contentsOf: file("good.pin"), encoding: .utf8).trimmingCharacters(in: .newlines)
    }

    private static let script = """
        set -e
        cd "$1"
        mkdir new authorities
        touch index.txt
        echo 1000 >serial
        echo 1000 >crlnumber
        cat >ca.cnf <<END
        [ca]
        default_ca = authority
        [authority]
        database = index.txt
        serial = serial
        crlnumber = crlnumber
        new_certs_dir = new
        certificate = authority.pem
        private_key = authority.key
        default_md = sha256
        default_crl_days = 2
        policy = any
        unique_subject = no
        copy_extensions = copy
        [any]
        commonName = supplied
        END
        key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
        authority() { openssl req -x509 -days 2 -subj "/CN=$2" $key -keyout $1.key -out $1.pem; }
        request() { openssl req -subj "/CN=$2" -addext $3 $key -keyout $1.key -out $1.csr; }
        sign() { name=$1; shift; openssl ca -batch -config ca.cnf -notext -in $name.csr -out $name.pem "$@"; }
        here=subjectAltName=IP:127.0.0.1,DNS:localhost

        authority authority "CurlNetworking test authority"
        authority foreign "Somebody else's authority"
        request good 127.0.0.1 $here
        sign good -days 2
        request expired 127.0.0.1 $here
        sign expired -startdate 20200101000000Z -enddate 20200201000000Z
        request early 127.0.0.1 $here
        sign early -startdate 20700101000000Z -enddate 20710101000000Z
        request wronghost example.com subjectAltName=DNS:example.com,DNS:w*.part.test
        sign wronghost -days 2
        request revoked 127.0.0.1 $here
        sign revoked -days 2
        openssl ca -config ca.cnf -revoke revoked.pem
        openssl ca -config ca.cnf -gencrl -out revoked.crl
        request unknown 127.0.0.1 $here
        sign unknown -days 2 -cert foreign.pem -keyfile foreign.key
        openssl req -x509 -days 2 -subj /CN=127.0.0.1 -addext $here $key -keyout selfsigned.key -out selfsigned.pem
        request client "a client" extendedKeyUsage=clientAuth
        sign client -days 2
        openssl pkcs12 -export -in client.pem -inkey client.key -passout pass:secret -out client.p12
        openssl pkey -in client.key -aes256 -passout pass:secret -out locked.key
        cat client.pem client.key >both.pem
        openssl x509 -in authority.pem -outform DER -out authority.der
        cp authority.pem authorities
        openssl rehash authorities
        openssl x509 -in good.pem -noout -pubkey | openssl pkey -pubin -outform DER \\
            | openssl dgst -sha256 -binary | openssl base64 >good.pin
        """
}
