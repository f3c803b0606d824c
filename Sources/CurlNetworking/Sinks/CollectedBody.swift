import Foundation

/// A body as it arrives in memory: small ones in a `Data` that fits, large ones in memory that earlier bodies have had.
struct CollectedBody {
    private enum Storage {
        case empty
        case data(Data)
        /// Nobody else has seen it.
        case block(RecycledMemory.Block)
    }

    private var storage = Storage.empty
    private let memory: RecycledMemory

    init(_ memory: RecycledMemory = .shared) {
        self.memory = memory
    }

    /// - Parameter expected: How many bytes the whole body is expected to have; 0 if that is unknown.
    mutating func append(_ bytes: UnsafeRawBufferPointer, expected: Int) {
        if case .block(let block) = storage, block.append(bytes) { return }
        let needed = max(expected, count + bytes.count)
        guard needed >= RecycledMemory.sizes.lowerBound, let block = memory.block(for: max(needed, 2 * count)) else {
            return appendToData(bytes, expected: expected)
        }
        withBytes { _ = block.append($0) }
        _ = block.append(bytes)
        storage = .block(block)
    }

    /// What there is.
    var data: Data {
        mutating get {
            switch storage {
            case .empty: return Data()
            case .data(let data): return data
            case .block(let block):
                let data = block.data()
                storage = .data(data)
                return data
            }
        }
    }

    private var count: Int {
        switch storage {
        case .empty: 0
        case .data(let data): data.count
        case .block(let block): block.count
        }
    }

    private func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        switch storage {
        case .empty: break
        case .data(let data): data.withUnsafeBytes(body)
        case .block(let block): body(block.bytes)
        }
    }

    private mutating func appendToData(_ bytes: UnsafeRawBufferPointer, expected: Int) {
        // Taken out, so that it isn't copied.
        var data = Data()
        switch storage {
        case .empty where bytes.count >= expected:
            // Most bodies come in one piece, and are copied into an exact fit.
            storage = .data(Data(bytes))
            return
        case .empty: data.reserveCapacity(expected)
        case .data(let own): data = own
        case .block(let block): data = block.data()
        }
        storage = .empty
        data.append(contentsOf: bytes)
        storage = .data(data)
    }
}
