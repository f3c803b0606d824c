import Foundation

@testable import CurlNetworking

/// Files and messages of other processes.
extension FuzzTarget {
    static let files = [
        FuzzTarget("resume-data") { bytes in
            guard let resumeData = try? ResumeData(decoding: Data(bytes)) else { return }
            precondition(StoredRequest.canName(resumeData.request.url) && resumeData.partialFile.length >= 0)
            precondition(resumeData.request.urlRequest.value(forHTTPHeaderField: "Authorization") == nil)
            if let encoded = resumeData.encoded() { precondition((try? ResumeData(decoding: encoded)) != nil) }
        },
        FuzzTarget("upload-resume-data") { bytes in
            guard let resumeData = try? UploadResumeData(decoding: Data(bytes)) else { return }
            let request = resumeData.request.urlRequest
            precondition([request.url, resumeData.resource.url].allSatisfy { $0.map(StoredRequest.canName) ?? false })
            precondition(request.value(forHTTPHeaderField: "Authorization") == nil)
            precondition(resumeData.acknowledged >= 0 && resumeData.acknowledged <= resumeData.sent)
            precondition(resumeData.sent <= resumeData.length ?? .max)
            if let encoded = resumeData.encoded() { precondition((try? UploadResumeData(decoding: encoded)) != nil) }
            UploadFolder.shared.check(resumeData)
        },
        FuzzTarget("cache-file") { bytes in
            let head = UnsafeRawBufferPointer(rebasing: bytes.prefix(CacheFile.Header.length))
            guard let header = CacheFile.Header(head, fileLength: bytes.count) else { return }
            let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(CacheFile.Header.length))
            let description = UnsafeRawBufferPointer(rebasing: rest.prefix(header.descriptionLength))
            let body = Data(rest.dropFirst(header.descriptionLength))
            precondition(body.count == header.bodyLength)
            var reader = ByteReader(description)
            guard let key = try? reader.text() else { return }
            _ = CacheFile.response(for: key, header: header, description: description, body: body)
        },
        // Without the checksum, which no fuzzer guesses.
        FuzzTarget("cache-description") { bytes in
            guard let response = try? CacheFile.response(describedBy: bytes, body: Data()) else { return }
            let freshness = response.freshness(now: now)
            precondition(!freshness.age.isNaN && !freshness.lifetime.isNaN)
            _ = UserInfo.decode(response.userInfo)
        },
        FuzzTarget("user-info") { bytes in _ = UserInfo.decode(Data(bytes)) },
        FuzzTarget("background-record") { bytes in
            guard let record = try? WireCoding.decoder.decode(TaskRecord.self, from: Data(bytes)), record.fault == nil
            else { return }
            AgentTalk.load(record)
            guard let written = try? WireCoding.encoder.encode(record) else { return }
            precondition((try? WireCoding.decoder.decode(TaskRecord.self, from: written))?.fault == nil)
        },
        FuzzTarget("background-session") { bytes in
            let record = try? WireCoding.decoder.decode(SessionRecord.self, from: Data(bytes))
            _ = try? record?.settings.makeConfiguration(in: URL(fileURLWithPath: "/tmp"))
        },
        FuzzTarget("agent-messages") { bytes in
            var reader = FrameReader()
            var talk = AgentTalk()
            bytes.inTwoPieces { piece in
                reader.append(piece)
                while let frame = try? reader.next() {
                    if let message = try? WireCoding.decoder.decode(ClientMessage.self, from: frame) {
                        talk.receive(message)
                    } else if let message = try? WireCoding.decoder.decode(AgentMessage.self, from: frame) {
                        talk.receive(message)
                    }
                }
            }
        },
    ]
}

/// A folder with the private file of an interrupted upload and a file that a server has sent, in which resume data looks for its body.
private struct UploadFolder {
    static let shared = UploadFolder()

    private let directory: URL
    private let file: UploadedFile
    private let upload: PartialFile
    private let download: PartialFile
    private let destination: UploadDestination

    private init() {
        do {
            let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            let url = directory.appendingPathComponent("file")
            try Data("body".utf8).write(to: url)
            let sent = try DownloadFile(in: directory)
            guard let file = UploadedFile(url), let request = URL(string: "https://example.com/files"),
                let resource = URL(string: "https://example.com/uploads/1")
            else { fatalError("The file can't be described") }
            let destination = UploadDestination(request: request, resource: resource)
            upload = try KeptUpload(destination: destination, body: .program(file)).write(in: directory)
            let description = try Data(contentsOf: directory.appendingPathComponent(upload.name))
            try description.withUnsafeBytes { bytes in
                try Result { () throws(URLError) in try sent.write(bytes) }.get()
            }
            guard let download = sent.keep() else { fatalError("The download can't be kept") }
            (self.directory, self.file, self.download) = (directory, file, download)
            self.destination = destination
            atexit { try? FileManager.default.removeItem(at: UploadFolder.shared.directory) }
        } catch {
            fatalError("The folder can't be made: \(error)")
        }
    }

    /// Whatever the data says of either file, it leads to the program's file only with the destination of that upload.
    func check(_ resumeData: UploadResumeData) {
        var bodies = [resumeData.body]
        if case .file(let described) = resumeData.body {
            for known in [upload, download] {
                var forged = known
                (forged.length, forged.isGrowing) = (described.length, described.isGrowing)
                bodies += [.file(known), .file(forged)]
                forged.name = described.name
                bodies.append(.file(forged))
            }
        }
        for body in bodies {
            switch try? body.content(for: resumeData.destination, in: directory) {
            case .programFile(let found): precondition(found == file && resumeData.destination == destination)
            case .file: preconditionFailure("there is no body in the folder")
            case .data, .stream, nil: break
            }
        }
    }
}
