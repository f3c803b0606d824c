// An app on the stock module with a library on ours inside: only passive types pass between the two.

import Foundation
import FoundationNetworking
import OurLibrary

package enum StockApp {
    /// Has the library load `url`, and then the app itself: request, response, cookies and cache are those of both.
    package static func load(_ url: URL) async throws -> (library: Int?, app: Int?, cookies: HTTPCookieStorage?) {
        let configuration = URLSessionConfiguration.ephemeral
        var request = URLRequest(url: url)
        request.setValue(languageMode, forHTTPHeaderField: "X-Mode")
        let cookies = configuration.httpCookieStorage
        let library = Loader(cookies: cookies, cache: configuration.urlCache)
        let (_, inside) = try await library.load(request)
        let (_, outside) = try await URLSession(configuration: configuration).data(for: request)
        return (inside?.statusCode, (outside as? HTTPURLResponse)?.statusCode, cookies)
    }
}
