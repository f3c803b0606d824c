import Foundation

// Apple API that can't exist on Linux.

extension URLSession {
    /// Bonjour services can't be looked up on Linux: Foundation has no `NetService` there.
    @available(
        *,
        unavailable,
        message:
            "There is no NetService on Linux. Look the service up by other means, and use streamTask(withHostName:port:)."
    )
    public func streamTask<Service: AnyObject>(with service: Service) -> URLSessionStreamTask { URLSessionStreamTask() }
}
