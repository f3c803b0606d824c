@_spi(Reflection) import Swift
import Foundation
import FoundationNetworking

// What the stock module tells its own protocols and nobody else, found by reflection: a task's session, its sink and its
// upload's body can be read, and the place for a download's file can be written. Each name and type is checked; where a version of the stock module
// differs, the answer is nil or false, and the task fails with a clear error.

/// The body of a stock upload task.
enum StockBody {
    case none
    case data(Data)
    case file(URL)
    /// The request's own, or the delegate's.
    case stream
}

/// Whom a stock session tells what comes of a task.
enum StockSink {
    case delegate
    /// A handler, and the delegate that an async method was given.
    case handler((any FoundationNetworking.URLSessionTaskDelegate)?)
}

extension FoundationNetworking.URLSession {
    /// nil where it can't be told. Asked on the queue on which protocols are started.
    func stockSink(of task: FoundationNetworking.URLSessionTask) -> StockSink? {
        guard let registry = reflect("taskRegistry", of: self) ?? nil,
            let sinks = (reflect("behaviours", of: registry) ?? nil) as? any StockSinks,
            let sink = sinks.sink(task.taskIdentifier).map({ Mirror(reflecting: $0) }), sink.displayStyle == .enum
        else { return nil }
        switch (sink.children.first?.label, sink.children.first?.value) {
        case (nil, _): return .delegate
        case ("dataCompletionHandler", _), ("downloadCompletionHandler", _): return .handler(nil)
        case ("dataCompletionHandlerWithTaskDelegate", let value?),
            ("downloadCompletionHandlerWithTaskDelegate", let value?):
            let delegate = Mirror(reflecting: value).children.lazy.compactMap {
                $0.value as? any FoundationNetworking.URLSessionTaskDelegate
            }.first
            return .handler(delegate)
        default: return nil
        }
    }
}

/// The dictionary of a stock session's sinks, whose values are of a type that has no public name.
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

    /// Whether it is an async method's, which is told its result at once and not on the delegate queue.
    var stockIsAsync: Bool? {
        (reflect("_callCompletionHandlerInline", of: self) ?? nil) as? Bool
    }

    /// The property is deprecated, for it has no effect on the stock module's own transport.
    var stockBeginDate: Date? {
        (reflect("earliestBeginDate", of: self) ?? nil) as? Date
    }

    /// The task's priority; its property must not be asked on the queue on which protocols are started.
    var stockPriority: Float? {
        (reflect("_priority", of: self) ?? nil) as? Float
    }

    /// nil where it can't be told.
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

/// The value of the stored property `name`, out of its optional; nil where there is no such property.
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

extension FoundationNetworking.URLProtocol {
    /// Puts `file` where the stock module looks for a finished download's file. False where there is no such place.
    func setDownloadedFile(_ file: URL) -> Bool {
        var isSet = false
        let object = UnsafeMutableRawPointer(Unmanaged.passUnretained(self).toOpaque())
        _ = _forEachField(of: FoundationNetworking.URLProtocol.self, options: classFields) { name, offset, type, _ in
            guard String(cString: name) == "properties", let type = type as? any StockProperties.Type else {
                return true
            }
            isSet = type.set(file, for: "temporaryFileURL", at: object + offset)
            return false
        }
        return isSet
    }
}

/// `_EachFieldOptions.classType`, which is declared as a variable.
private let classFields = _EachFieldOptions(rawValue: 1)

/// The dictionary of a stock protocol's properties, whose keys are of a type that has no public name.
private protocol StockProperties {
    static func set(_ value: Any, for name: String, at address: UnsafeMutableRawPointer) -> Bool
}

extension Dictionary: StockProperties {
    fileprivate static func set(_ value: Any, for name: String, at address: UnsafeMutableRawPointer) -> Bool {
        guard let names = Key.self as? any RawRepresentable<String>.Type, let key = names.init(rawValue: name) as? Key,
            let value = value as? Value
        else { return false }
        address.assumingMemoryBound(to: Self.self).pointee[key] = value
        return true
    }
}
