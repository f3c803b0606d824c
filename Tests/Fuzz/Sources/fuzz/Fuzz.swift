import CurlNetworking
import Foundation

/// libFuzzer, with the target named by the environment's `FUZZ_TARGET`: its own arguments leave no place for a name.
@main
enum Fuzz {
    static func main() {
        // Found now, so that an unknown name isn't a finding.
        _ = target
        var count = CommandLine.argc
        var arguments = CommandLine.unsafeArgv
        exit(runDriver(&count, &arguments, testOneInput))
    }

    fileprivate static let target: FuzzTarget = {
        let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"] ?? ""
        guard let target = (FuzzTarget.all + tasks).first(where: { $0.name == name }) else {
            FileHandle.standardError.write(Data("There is no target '\(name)'.\n".utf8))
            exit(2)
        }
        return target
    }()

    /// Above all readers: whole tasks.
    private static let tasks = [
        FuzzTarget("task-http1") { http1.run($0) },
        FuzzTarget("task-http2") { http2.run($0) },
    ]
    private static let http1 = TaskUnderFire(.automatic)
    private static let http2 = TaskUnderFire(.http2PriorKnowledge)
}

/// The driver calls this with what it has invented. libFuzzer's own `main` refers to it by this name.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    Fuzz.target.run(UnsafeRawBufferPointer(start: start, count: count))
    return 0
}

/// libFuzzer's driver. SwiftPM has programs begin elsewhere than in the `main` that libFuzzer brings.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ run: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32
