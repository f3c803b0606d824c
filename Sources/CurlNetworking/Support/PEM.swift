import Foundation

/// Certificates in PEM (RFC 7468).
enum PEM {
    private static let labels = ["CERTIFICATE", "X509 CERTIFICATE"]

    /// The certificates in `data`, in DER: those of a PEM text, or `data` itself if it is in DER. Empty if there are none or one is
    /// damaged.
    static func certificates(in data: Data) -> [Data] {
        // In DER, a certificate is a SEQUENCE whose length field has two or more bytes.
        if data.starts(with: [0x30, 0x82]) || data.starts(with: [0x30, 0x83]) || data.starts(with: [0x30, 0x81]) {
            return [data]
        }
        var certificates: [Data] = []
        var label: String?
        var body = ""
        for line in String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline) {
            let line = line.trimmingCharacters(in: .whitespaces)
            if let begun = labels.first(where: { line == "-----BEGIN \($0)-----" }) {
                (label, body) = (begun, "")
            } else if let begun = label, line == "-----END \(begun)-----" {
                guard let certificate = Data(base64Encoded: body), !certificate.isEmpty else { return [] }
                certificates.append(certificate)
                label = nil
            } else if label != nil {
                body += line
            }
        }
        return label == nil ? certificates : []
    }

    static func encode(_ certificate: Data) -> String {
        let body = certificate.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN CERTIFICATE-----\n\(body)\n-----END CERTIFICATE-----\n"
    }
}
