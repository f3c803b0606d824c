import Foundation

/// The target named by the environment's `FUZZ_TARGET`. libFuzzer's own arguments leave no place for a name.
private let target: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"]
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        // `.ci/fuzz` asks for the list in this way.
        print(FuzzTarget.all.map(\.name).joined(separator: "\n"))
        exit(name == nil ? 0 : 2)
    }
    return target
}()

/// libFuzzer calls this with what it has invented.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    target.run(UnsafeRawBufferPointer(start: start, count: count))
    return 0
}
