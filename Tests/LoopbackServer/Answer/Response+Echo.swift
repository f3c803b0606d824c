import Foundation

extension LoopbackServer {
    /// What `Response.echo` says, for the client to decode.
    package struct Echo: Codable, Equatable, Sendable {
        package struct Field: Codable, Equatable, Sendable {
            package let name: String
            package let value: String
        }

        package let ordinal: Int
        package let connection: Int
        package let method: String
        package let target: String
        package let httpVersion: String
        package let headers: [Field]
        package let trailers: [Field]
        /// What was stored of the body; Base64 in the JSON.
        package let body: Data
        package let bodyLength: Int64

        package init(_ request: Request) {
            ordinal = request.ordinal
            connection = request.connection
            method = request.method
            target = request.target
            httpVersion = request.httpVersion
            headers = request.headers.map { Field(name: $0.name, value: $0.value) }
            trailers = request.trailers.map { Field(name: $0.name, value: $0.value) }
            body = request.body
            bodyLength = request.bodyLength
        }
    }
}

extension LoopbackServer.Response {
    /// The request as JSON, an `Echo`.
    package static func echo(_ request: LoopbackServer.Request) -> Self {
        .json(LoopbackServer.Echo(request))
    }

    /// The request's body, with its own content type.
    package static func echoBody(_ request: LoopbackServer.Request) -> Self {
        .data(request.body, contentType: request.header("Content-Type"))
    }
}
