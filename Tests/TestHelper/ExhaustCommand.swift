import CurlNetworking
import Foundation
import Glibc

/// `exhaust URL URL`: loads the first, uses up all descriptors and loads the second. Says what came of that, gives the descriptors back, and says what
/// comes of it then: "STATUS BYTES", or "CODE ERRNO TEXT".
enum ExhaustCommand {
    static func run(_ arguments: [String]) async {
        let urls = arguments.compactMap { URL(string: $0) }
        guard urls.count == 2 else { return Parent.say("exhaust URL URL") }
        let session = URLSession(configuration: .ephemeral)
        _ = try? await session.data(from: urls[0])
        var limit = rlimit(rlim_cur: 256, rlim_max: 256)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        var descriptors: [Int32] = []
        while true {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { break }
            descriptors.append(descriptor)
        }
        await load(urls[1], in: session)
        for descriptor in descriptors { close(descriptor) }
        await load(urls[1], in: session)
    }

    private static func load(_ url: URL, in session: URLSession) async {
        do {
            let (data, response) = try await session.data(from: url)
            Parent.say("\((response as? HTTPURLResponse)?.statusCode ?? 0) \(data.count)")
        } catch {
            let error = error as NSError
            let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError
            Parent.say("\(error.code) \(cause?.code ?? 0) \(error.localizedDescription)")
        }
    }
}
