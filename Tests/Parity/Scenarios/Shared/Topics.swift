// The scenarios of the parity runs: small programs on plain URLSession API, compiled once with CurlNetworking and once with
// FoundationNetworking, whose timelines are compared.
//
// To add one: write `Scenario("what it is about") { stage in … }` into the topic's file, or a new file with a
// `let name = Topic("title") { … }`, named in the list below. Then `make parity`, and look at what has changed in Parity.md.
//
// In a scenario,
//  - `stage.serve { request in … }` starts a server; the requests that it sees join the timeline by themselves;
//  - `stage.load`, `stage.upload`, `stage.download` and `stage.attempt` run one task and note what comes of it;
//  - `Recorder(stage)` is a delegate that notes every call; `await recorder.completions()` waits for its tasks;
//  - `stage.note` notes anything else.
//
// A timeline must be the same on every run: no times, no addresses, no random numbers; tasks that run side by side get
// lanes of their own by their `taskDescription`. Where the stock module fails, `.promised(…)` says what Apple's
// documentation promises and what ours must show for it, and `.stockHangs()` cuts the wait short.

import CurlNetworkingParityStage

/// Every topic, in the order of the table.
package let topics: [Topic] = [
    dataByHandler, dataByDelegate, dispositions, asyncCalls,
    uploads, downloads, resuming,
    methods, requestHeaders, requestBodies,
    statusCodes, responseHeaders, contentCodings,
    redirects, redirectDecisions, informational, authentication,
    cookies, caching,
    cancellation, suspension, sessions, progress,
    timeouts, beginning, metrics,
    connectionFaults, malformedAnswers, errorTexts,
    urls, schemes, protocols, proxies,
    webSockets, streams,
]
