import Foundation

// What another task can continue from.

extension UploadStep {
    /// Calls `completion` on the loop, at once or later, with the upload's resume data; nil if there is nothing to continue, or another
    /// task has ended with the body. Writes what it can't contain to a file, on another thread, and removes what an earlier task kept if
    /// this replaces it.
    func makeResumeData(_ context: any StepContext, _ completion: @escaping @Sendable (Data?) -> Void) {
        guard var found = resumeDataWithoutBody(context) else { return completion(nil) }
        if let resumption, let kept = resumption.kept(for: found.destination, file) {
            found.body = kept
            guard case .file = kept else { return completion(found.encoded()) }
            let (resumeData, owner) = (found, context.owner)
            return WorkThreads.files.run {
                let result = resumption.isKept ? resumeData.encoded() : nil
                owner.submit { completion(result) }
            }
        }
        let body: BodyToKeep
        switch (context.owner.body.source, resumption?.content) {
        case (.stream, _): return completion(found.encoded())
        case (.file, .file(_, let partial)): body = .ours(partial)
        case (.file, _):
            guard let file else { return completion(nil) }
            body = .program(file)
        case (.data(let data), _): body = .data(data)
        case (.request, _): return completion(nil)
        }
        let (resumeData, old, owner) = (found, resumption?.kept?.body, context.owner)
        let directory = context.session.settings.temporaryDirectory
        WorkThreads.files.run {
            let result = resumeData.encoded(with: body, insteadOf: old, in: directory)
            owner.submit { completion(result) }
        }
    }

    private func resumeDataWithoutBody(_ context: any StepContext) -> UploadResumeData? {
        guard !isAnswered, let original = context.owner.originalRequest, let url = original.url else { return nil }
        let request = StoredRequest(original, to: url)
        if let resource = course.resource {
            return UploadResumeData(
                request: request,
                resource: resource,
                acknowledged: course.acknowledged,
                // The server may have more than this task knows of: what earlier ones sent.
                sent: max(course.sent, course.acknowledged),
                length: course.length,
                body: .stream
            )
        }
        // Nothing has been sent yet.
        guard creation == nil, let resumption, let resource = resumption.resource else { return nil }
        return UploadResumeData(
            request: request,
            resource: resource,
            acknowledged: resumption.acknowledged,
            sent: resumption.sent,
            length: resumption.length,
            body: .stream
        )
    }
}
