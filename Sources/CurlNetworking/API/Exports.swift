// The passive types (URLRequest, URLResponse, HTTPCookie, URLCache, URLCredential and their family) are the stock
// module's own, so values pass freely between this module and libraries compiled against that one. Everything that acts
// is declared here and shadows its namesake.
@_exported import FoundationNetworking
