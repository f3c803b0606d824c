import Foundation
import TestSupport
import Testing

/// What `make sbom` writes.
@Suite("The bill of materials", .timeLimit(.minutes(5)))
struct BillOfMaterialsTests {
    private struct Document: Decodable {
        struct Package: Decodable {
            struct Reference: Decodable {
                let referenceType: String
                let referenceLocator: String
            }

            let name: String
            let SPDXID: String
            let versionInfo: String
            let downloadLocation: String
            let filesAnalyzed: Bool
            let externalRefs: [Reference]?
        }

        struct Relationship: Decodable {
            let spdxElementId: String
            let relationshipType: String
            let relatedSpdxElement: String
        }

        struct Creation: Decodable {
            let created: Date
            let creators: [String]
        }

        let spdxVersion: String
        let dataLicense: String
        let SPDXID: String
        let name: String
        let documentNamespace: URL
        let creationInfo: Creation
        let packages: [Package]
        let relationships: [Relationship]
    }

    private func document() async throws -> Document {
        let folder = try TemporaryDirectory()
        let file = folder.url.appendingPathComponent("sbom.json")
        let script = Products.sources.appendingPathComponent(".ci/sbom").path
        let process = try ChildProcess([script, file.path], mergesErrors: true)
        let output = await process.remainingLines()
        try #require(await process.ending() == .exit(0), "\(output)")
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(Document.self, from: Data(contentsOf: file))
    }

    @Test("The bill is a well-formed document of SPDX 2.3, and names all that the product links and loads at run time")
    func content() async throws {
        let document = try await document()
        #expect(document.spdxVersion == "SPDX-2.3")
        #expect(document.dataLicense == "CC0-1.0")
        #expect(document.SPDXID == "SPDXRef-DOCUMENT")
        #expect(document.documentNamespace.fragment() == nil)
        #expect(abs(document.creationInfo.created.timeIntervalSinceNow) < 600)
        #expect(!document.creationInfo.creators.isEmpty)
        let identifiers = document.packages.map(\.SPDXID)
        #expect(Set(identifiers).count == identifiers.count)
        for package in document.packages {
            #expect(package.SPDXID.wholeMatch(of: /SPDXRef-[A-Za-z0-9.-]+/) != nil)
            #expect(!package.versionInfo.isEmpty)
        }
        for relationship in document.relationships {
            for end in [relationship.spdxElementId, relationship.relatedSpdxElement] {
                #expect(end == document.SPDXID || identifiers.contains(end))
            }
        }
        let described = document.relationships.filter { $0.relationshipType == "DESCRIBES" }.map(\.relatedSpdxElement)
        #expect(described == ["SPDXRef-CurlNetworking"])
        let needed = document.relationships.filter { $0.relationshipType == "DEPENDS_ON" }.map(\.relatedSpdxElement)
        #expect(Set(needed + described) == Set(identifiers))

        let names = Set(document.packages.map(\.name))
        // Libraries in this process that are Debian's: what is linked, and what libcurl brings along.
        for path in try loadedLibraries() {
            let owner = try await owner(of: path)
            if let owner { #expect(names.contains(owner), "\(path)") }
        }
        for package in document.packages where package.name.hasPrefix("lib") || package.name == "ca-certificates" {
            let reference = try #require(package.externalRefs?.first)
            #expect(reference.referenceType == "purl")
            #expect(reference.referenceLocator.hasPrefix("pkg:deb/"))
        }
        for name in ["libcurl", "libssl", "zlib1g", "libbrotli", "libzstd", "ca-certificates"] {
            #expect(names.contains { $0.hasPrefix(name) }, "\(name)")
        }
    }

    /// libcurl and what it brings along.
    private func loadedLibraries() throws -> Set<String> {
        let lines = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).split(separator: "\n")
        let paths = lines.compactMap { $0.split(separator: " ").last.map(String.init) }
        return Set(
            paths.filter { path in
                ["libcurl", "libssl", "libcrypto", "libnghttp2", "libz."].contains { path.contains("/" + $0) }
            }
        )
    }

    /// nil if no package has it.
    private func owner(of path: String) async throws -> String? {
        let process = try ChildProcess([
            "sh", "-c", #"dpkg-query -S "$1" 2>/dev/null || dpkg-query -S "${1#/usr}" 2>/dev/null"#, "sh", path,
        ])
        return await process.remainingLines().first.flatMap { $0.split(separator: ":").first.map(String.init) }
    }
}
