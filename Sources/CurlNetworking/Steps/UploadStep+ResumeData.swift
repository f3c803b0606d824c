import Foundation

// What another task can continue from.

extension UploadStep {
    /// Calls `completion` on the loop, at once or later, with the upload's resume data; nil if there is nothing to continue. Writes what can't be
    /// in it to a file, on another queue.
    func makeResumeData(_ host: any StepHost, _ completion: @escaping @Sendable (Data?) -> Void) {
        guard let found = resumeDataWithoutBody(host) else { return completion(nil) }
        var resumeData = found
        if let kept = resumption?.kept {
            resumeData.body = kept
            return completion(resumeData.encoded())
        }
        let (source, file, owner) = (host.owner.body.source, file, host.owner)
        let directory = host.session.settings.temporaryDirectory
        switch source {
        case .stream: return completion(resumeData.encoded())
        case .request: return completion(nil)
        case .data, .file: break
        }
        DispatchQueue.global(qos: .utility).async {
            var resumeData = found
            var kept: KeptBody?
            if case .data(let data) = source { kept = try? KeptBody(data, in: directory) }
            if case .file = source, let file { kept = try? KeptBody(file, in: directory) }
            var encoded: Data?
            if let kept {
                resumeData.body = kept
                encoded = resumeData.encoded()
                if encoded == nil { kept.remove(in: directory) }
            }
            let result = encoded
            owner.submit { completion(result) }
        }
    }

    private func resumeDataWithoutBody(_ host: any StepHost) -> UploadResumeData? {
        guard let original = host.owner.originalRequest, let url = original.url else { return nil }
        let request = StoredRequest(original, to: url)
        if let resource = course.resource {
            return UploadResumeData(
                request: request,
                resource: resource,
                acknowledged: course.acknowledged,
                length: course.length,
                body: .stream
            )
        }
        // Nothing was sent yet.
        guard creation == nil, let resumption, let resource = resumption.resource else { return nil }
        return UploadResumeData(
            request: request,
            resource: resource,
            acknowledged: resumption.acknowledged,
            length: resumption.length,
            body: .stream
        )
    }
}
