import Foundation

// The choice of a task's steps and its sink.

extension Steps.Facts {
    /// - Parameter beginDate: The task's `earliestBeginDate`.
    init(_ handle: TaskHandle, _ sink: any Sink, _ consumer: Consumer, beginDate: Date?, hasOwnDelegate: Bool) {
        let settings = handle.session.settings
        isPutOff = (beginDate?.timeIntervalSinceNow ?? 0) > 0
        hasDelegate = hasOwnDelegate || handle.session.hasDelegate
        needsCacheStep = handle.originalRequest.map { settings.cachePolicy(for: $0).countsWithoutCache } ?? false
        if let file = sink as? FileSink, let resumeData = handle.resumption { resumption = (resumeData, file) }
        file = handle.body.file
        maySendStream = handle.body.isStream || hasDelegate || settings.hasProtocols
        switch handle.upload {
        case .success(let resumption): upload = UploadStep(offering: settings.uploadVersion, resuming: resumption)
        case .failure(let error): refusal = error
        case nil:
            if handle.body.isUpload, let version = settings.uploadVersion { upload = UploadStep(offering: version) }
        }
        if let request = handle.originalRequest, request.url == nil { refusal = .missingURL }
        if case .webSocket(let exchange) = consumer { webSocket = exchange }
    }
}

extension Consumer {
    /// The sink of a task that begins. Called on its loop.
    func makeSink(for handle: TaskHandle) -> any Sink {
        // Of a body that isn't stored, reads only as much as keeps the connection usable.
        if handle.isHidden { return BoundedSink(limit: UnwantedBody.maximumLength) }
        return makeSink(handle, dividesParts: handle.session.settings.dividesParts) {
            FileSink(
                handle,
                in: handle.session.settings.temporaryDirectory,
                for: handle.originalRequest,
                adding: handle.session.settings.additionalHeaders,
                resuming: handle.resumption.flatMap { try? $0.get() }
            )
        }
    }
}
