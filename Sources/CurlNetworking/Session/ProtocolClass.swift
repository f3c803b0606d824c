import Foundation

/// The type that objects of either kind report to.
typealias ProtocolClient = URLProtocolClient & FoundationNetworking.URLProtocolClient

/// A program's or library's class that loads requests: a subclass of this module's `URLProtocol` or the stock module's.
enum ProtocolClass: Equatable {
    case own(URLProtocol.Type)
    case stock(FoundationNetworking.URLProtocol.Type)
    /// Neither. It accepts every request offered to it, and fails it; if it were skipped silently, the request would go to the network.
    case unusable(AnyClass)

    /// nil for the stock module's built-in classes, which represent the network.
    init?(_ protocolClass: AnyClass) {
        if let own = protocolClass as? URLProtocol.Type {
            self = .own(own)
        } else if let stock = protocolClass as? FoundationNetworking.URLProtocol.Type {
            guard !String(reflecting: stock).hasPrefix("FoundationNetworking.") else { return nil }
            self = .stock(stock)
        } else {
            self = .unusable(protocolClass)
        }
    }

    static func == (one: ProtocolClass, other: ProtocolClass) -> Bool { one.type == other.type }

    var type: AnyClass {
        switch self {
        case .own(let type): type
        case .stock(let type): type
        case .unusable(let type): type
        }
    }

    func canInit(with task: URLSessionTask) -> Bool {
        switch self {
        case .own(let type): type.canInit(with: task)
        case .stock(let type): task.standIn.map { type.canInit(with: $0) } ?? false
        case .unusable: true
        }
    }

    /// The stock module never calls this method, and its own implementation traps, so a stock class may well not override it.
    func canonicalRequest(for request: URLRequest) -> URLRequest {
        if case .own(let type) = self { type.canonicalRequest(for: request) } else { request }
    }

    /// nil if no object can be created.
    func makeObject(for task: URLSessionTask, cachedResponse: CachedURLResponse?, client: any ProtocolClient)
        -> ProtocolObject?
    {
        switch self {
        case .own(let type): .own(type.init(task: task, cachedResponse: cachedResponse, client: client))
        case .stock(let type):
            task.standIn.map { .stock(type.init(task: $0, cachedResponse: cachedResponse, client: client)) }
        case .unusable: nil
        }
    }
}

/// An object of a `ProtocolClass`, which loads one request. Its methods are called on a thread with a run loop: see `RunLoopThreads`.
enum ProtocolObject {
    case own(URLProtocol)
    case stock(FoundationNetworking.URLProtocol)

    func startLoading() {
        switch self {
        case .own(let object): object.startLoading()
        case .stock(let object): object.startLoading()
        }
    }

    /// `hasEnded` is true if the object itself has reported an end. The stock module calls this method only if it hasn't, and its own
    /// implementation traps.
    func stopLoading(hasEnded: Bool) {
        switch self {
        case .own(let object): object.stopLoading()
        case .stock(let object): if !hasEnded { object.stopLoading() }
        }
    }
}
