@_spi(Reflection) import Swift
import Foundation
import FoundationNetworking

// What the stock module tells its own protocols and nobody else, found by reflection: a task's session and its upload's body can
// be read, and the place for a download's file can be written. Each name and type is checked; where a version of the stock module
// differs, the answer is nil or false, and the task fails with a clear error.

/// The body of a stock upload task.
enum StockBody {
    case none
    case data(Data)
    case file(URL)
    /// The request's own, or the delegate's.
    case stream
}

extension FoundationNetworking.URLSessionTask {
    /// The task's session.
    var stockSession: FoundationNetworking.URLSession? {
        (reflected("session") ?? nil) as? FoundationNetworking.URLSession
    }

    /// The task's priority; its property must not be asked on the queue on which protocols are started.
    var stockPriority: Float? {
        (reflected("_priority") ?? nil) as? Float
    }

    /// nil where it can't be told.
    var stockBody: StockBody? {
        guard let known = reflected("knownBody") else { return nil }
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

    /// The value of the stored property `name`, out of its optional; nil where there is no such property.
    private func reflected(_ name: String) -> Any?? {
        var mirror: Mirror? = Mirror(reflecting: self)
        while let current = mirror {
            if let child = current.children.first(where: { $0.label == name }) {
                let value = Mirror(reflecting: child.value)
                return .some(value.displayStyle == .optional ? value.children.first?.value : child.value)
            }
            mirror = current.superclassMirror
        }
        return nil
    }
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
