// The passive types (URLRequest, URLResponse, HTTPCookie, URLCache, URLCredential and the like) are the stock module's own, so values can
// be shared with libraries compiled against that module. Sessions, tasks, delegates and the like are declared here and shadow the stock
// ones.
@_exported import FoundationNetworking
