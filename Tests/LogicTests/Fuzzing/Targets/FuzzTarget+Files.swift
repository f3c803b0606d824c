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
            precondition(resumeData.acknowledged >= 0 && resumeData.acknowledged <= resumeData.length ?? .max)
            if let encoded = resumeData.encoded() { precondition((try? UploadResumeData(decoding: encoded)) != nil) }
            // Nothing is found in a folder that isn't there.
            if case .programFile = try? resumeData.body.content(in: URL(fileURLWithPath: "/nonexistent")) {
                preconditionFailure("resume data may not name a file")
            }
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
            precondition(record.elapsed >= 0 && record.submission.identifier > 0)
            guard let written = try? WireCoding.encoder.encode(record) else { return }
            precondition((try? WireCoding.decoder.decode(TaskRecord.self, from: written))?.fault == nil)
        },
        FuzzTarget("background-session") { bytes in
            let record = try? WireCoding.decoder.decode(SessionRecord.self, from: Data(bytes))
            _ = try? record?.settings.makeConfiguration(in: URL(fileURLWithPath: "/tmp"))
        },
        FuzzTarget("agent-messages") { bytes in
            var reader = FrameReader()
            bytes.inTwoPieces { piece in
                reader.append(piece)
                while let frame = try? reader.next() {
                    _ = try? WireCoding.decoder.decode(ClientMessage.self, from: frame)
                    _ = try? WireCoding.decoder.decode(AgentMessage.self, from: frame)
                }
            }
        },
    ]
}
