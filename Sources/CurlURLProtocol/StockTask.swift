import Foundation
import FoundationNetworking

// What the stock module tells only its own protocols, read by reflection: a task's session and that session's work queue, its sink and its
// upload's body. Each name and type is checked. If a version of the stock module differs, the result is nil, and the task fails with a
// clear error.

/// The body of a stock upload task.
enum StockBody {
    case none
    case data(Data)
    case file(URL)
    /// The request's or the delegate's.
    case stream
}

/// The receiver of a stock session's task's result.
enum StockSink {
    case delegate
    /// A handler, and the delegate passed to an async method.
    case handler((any FoundationNetworking.URLSessionTaskDelegate)?)
}

extension FoundationNetworking.URLSession {
    /// The serial queue on which the session does everything but call its delegate and handlers; nil if it can't be found.
    var stockWorkQueue: DispatchQueue? {
        (reflect("workQueue", of: self) ?? nil) as? DispatchQueue
    }

    /// nil if it can't be found. Call it on the queue on which protocols are started.
    func stockSink(of task: FoundationNetworking.URLSessionTask) -> StockSink? {
        guard let registry = reflect("taskRegistry", of: self) ?? nil,
            let sinks = (reflect("behaviours", of: registry) ?? nil) as? any StockSinks,
            let sink = sinks.sink(task.taskIdentifier).map({ Mirror(reflecting: $0) }), sink.displayStyle == .enum
        else { return nil }
        switch (sink.children.first?.label, sink.children.first?.value) {
        case (nil, _): return .delegate
        case ("dataCompletionHandler", _): return .handler(nil)
        case ("dataCompletionHandlerWithTaskDelegate", let value?):
            let delegate = Mirror(reflecting: value).children.lazy.compactMap {
                $0.value as? any FoundationNetworking.URLSessionTaskDelegate
            }.first
            return .handler(delegate)
        default: return nil
        }
    }
}

/// The dictionary of a stock session's sinks, whose values have an internal type.
private protocol StockSinks {
    func sink(_ identifier: Int) -> Any?
}

extension Dictionary: StockSinks {
    fileprivate func sink(_ identifier: Int) -> Any? {
        (identifier as? Key).flatMap { self[$0] }
    }
}

extension FoundationNetworking.URLSessionTask {
    /// The task's session.
    var stockSession: FoundationNetworking.URLSession? {
        (reflect("session", of: self) ?? nil) as? FoundationNetworking.URLSession
    }

    /// Read by reflection because the property is deprecated: the stock module's transport ignores it.
    var stockBeginDate: Date? {
        (reflect("earliestBeginDate", of: self) ?? nil) as? Date
    }

    /// The task's priority. Its property must not be read on the queue on which protocols are started.
    var stockPriority: Float? {
        (reflect("_priority", of: self) ?? nil) as? Float
    }

    /// nil if it can't be found.
    var stockBody: StockBody? {
        guard let known = reflect("knownBody", of: self) else { return nil }
        guard let known else { return .stream }
        let body = Mirror(reflecting: known)
        guard body.displayStyle == .enum else { return nil }
        switch (body.children.first?.label, body.children.first?.value) {
        case ("data", let data as DispatchData): return .data(Data(data))
        case ("file", let file as URL): return .file(file)
        case ("stream", _): return .stream
        case (nil, _): return StockBody.none
        default: return nil
        }
    }
}

/// The value of the stored property `name`, without its optional; nil if there is no such property.
private func reflect(_ name: String, of object: Any) -> Any?? {
    var mirror: Mirror? = Mirror(reflecting: object)
    while let current = mirror {
        if let child = current.children.first(where: { $0.label == name }) {
            let value = Mirror(reflecting: child.value)
            return .some(value.displayStyle == .optional ? value.children.first?.value : child.value)
        }
        mirror = current.superclassMirror
    }
    return nil
}
