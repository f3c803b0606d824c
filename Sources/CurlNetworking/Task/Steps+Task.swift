import Foundation

// The choice of a task's steps.

extension Steps.Facts {
    init(_ handle: TaskHandle, _ sink: any Sink) {
        let settings = handle.session.settings
        isPutOff = (handle.settings.earliestBeginDate?.timeIntervalSinceNow ?? 0) > 0
        hasDelegate = handle.session.delegates.session != nil || handle.ownDelegates.session != nil
        isForCacheAlone =
            handle.originalRequest.map { settings.cachePolicy(for: $0) == .returnCacheDataDontLoad } ?? false
        if let file = sink as? FileSink, let resumeData = handle.resumption { resumption = (resumeData, file) }
        sendsStream = handle.body.isStream
    }
}
