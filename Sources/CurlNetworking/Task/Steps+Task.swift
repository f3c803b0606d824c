import Foundation

// The choice of a task's steps and its sink.

extension Steps.Facts {
    init(_ handle: TaskHandle, _ sink: any Sink) {
        let settings = handle.session.settings
        let (beginDate, hasOwnDelegate) = handle.shared.withLock {
            ($0.settings.earliestBeginDate, $0.delegates.session != nil)
        }
        isPutOff = (beginDate?.timeIntervalSinceNow ?? 0) > 0
        hasDelegate = hasOwnDelegate || handle.session.hasDelegate
        isForCacheAlone =
            handle.originalRequest.map { settings.cachePolicy(for: $0) == .returnCacheDataDontLoad } ?? false
        if let file = sink as? FileSink, let resumeData = handle.resumption { resumption = (resumeData, file) }
        sendsStream = handle.body.isStream
        webSocket = handle.webSocket
    }
}

extension Consumer {
    /// The sink of a task that begins. Its loop.
    func makeSink(for handle: TaskHandle) -> any Sink {
        makeSink(handle) {
            FileSink(
                handle,
                in: handle.session.settings.temporaryDirectory,
                for: handle.originalRequest,
                resuming: handle.resumption.flatMap { try? $0.get() }
            )
        }
    }
}
