extension ClientCertificate {
    /// Has `tls` present the certificate to a server that asks for one.
    func use(on tls: TLSMemoryConnection) throws(TransferFailure) {
        let functions = tls.functions
        defer { functions.clearErrors() }
        let isUsed =
            switch format {
            case .pem: usePEM(tls)
            case .pkcs12: useBundle(tls)
            }
        guard isUsed, functions.checkKey(tls.connection) == 1 else {
            let text = functions.takeErrorText() ?? "it holds no certificate with its key"
            throw TransferFailure(
                code: .sslCertProblem,
                text: "The client's certificate can't be used: \(text)",
                phase: .securing
            )
        }
    }

    private func usePEM(_ tls: TLSMemoryConnection) -> Bool {
        let functions = tls.functions
        let isShown = certificates.withMemory(functions) { memory in
            guard let leaf = functions.readCertificate(memory, nil, nil, "") else { return false }
            defer { functions.freeCertificate(leaf) }
            guard functions.useCertificate(tls.connection, leaf) == 1 else { return false }
            while let authority = functions.readCertificate(memory, nil, nil, "") {
                defer { functions.freeCertificate(authority) }
                guard tls.addToChain(authority) else { return false }
            }
            return true
        }
        guard isShown else { return false }
        return (key ?? certificates).withMemory(functions) { memory in
            guard let key = functions.readKey(memory, nil, nil, passphrase ?? "") else { return false }
            defer { functions.freeKey(key) }
            return functions.useKey(tls.connection, key) == 1
        }
    }

    private func useBundle(_ tls: TLSMemoryConnection) -> Bool {
        let functions = tls.functions
        return certificates.withMemory(functions) { memory in
            guard let bundle = functions.readBundle(memory, nil) else { return false }
            defer { functions.freeBundle(bundle) }
            var (key, leaf, authorities): (OpenSSL.Pointer?, OpenSSL.Pointer?, OpenSSL.Pointer?)
            guard functions.openBundle(bundle, passphrase ?? "", &key, &leaf, &authorities) == 1 else { return false }
            defer {
                if let key { functions.freeKey(key) }
                if let leaf { functions.freeCertificate(leaf) }
            }
            var isWhole = true
            if let authorities {
                while let authority = functions.popFromStack(authorities) {
                    isWhole = tls.addToChain(authority) && isWhole
                    functions.freeCertificate(authority)
                }
                functions.freeStack(authorities)
            }
            guard isWhole, let key, let leaf else { return false }
            return functions.useCertificate(tls.connection, leaf) == 1 && functions.useKey(tls.connection, key) == 1
        }
    }
}

extension TLSMemoryConnection {
    // SSL_CTRL_CHAIN_CERT; with 1, OpenSSL takes its own reference.
    private static let addsToChain: Int32 = 89

    fileprivate func addToChain(_ authority: OpenSSL.Pointer) -> Bool {
        functions.control(connection, Self.addsToChain, 1, authority) == 1
    }
}

extension ClientCertificate.Source {
    /// False if there is nothing to read, or `body` returns false.
    fileprivate func withMemory(_ functions: TLSClientFunctions, _ body: (OpenSSL.Pointer) -> Bool) -> Bool {
        let bytes =
            switch self {
            case .file(let path): CertificateFile.content(of: path)
            case .bytes(let bytes): bytes
            }
        return bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let count = Int32(exactly: bytes.count),
                let memory = functions.memoryOver(base, count)
            else { return false }
            defer { _ = functions.freeMemory(memory) }
            return body(memory)
        }
    }
}
