import Foundation

// The choice of a task's steps and its sink.

extension Steps.Facts {
    /// - Parameter beginDate: The task's `earliestBeginDate`.
    init(_ handle: TaskHandle, _ sink: any Sink, _ consumer: Consumer, beginDate: Date?, hasOwnDelegate: Bool) {
        let settings = handle.session.settings
        isPutOff = BeginDatePolicy.wait(for: beginDate, at: Date()) != nil
        hasDelegate = hasOwnDelegate || handle.session.hasDelegate
        needsCacheStep = handle.originalRequest.map { settings.cachePolicy(for: $0).countsWithoutCache } ?? false
        file = handle.body.file
        maySendStream = handle.body.isStream || hasDelegate || settings.hasProtocols
        switch handle.start {
        case .beginning:
            if handle.body.isUpload, let version = settings.uploadVersion { upload = UploadStep(offering: version) }
        case .download(let resumeData):
            if let file = sink as? FileSink { resumption = (resumeData, file) }
        case .upload(let resumption):
            upload = UploadStep(offering: settings.uploadVersion, resuming: resumption)
        case .invalid(let error):
            refusal = error
        }
        if let request = handle.originalRequest, request.url == nil { refusal = .missingURL }
        webSocket = consumer.webSocket
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
                resuming: handle.start.download
            )
        }
    }
}
