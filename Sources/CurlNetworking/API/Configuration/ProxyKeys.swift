// The keys of `connectionProxyDictionary`, with CFNetwork's names. CFNetwork's are CFStrings, so programs
// write `kCFNetworkProxiesHTTPEnable as String`, which also compiles here.

/// Whether http URLs have a proxy: a Boolean, or a number other than 0.
///
/// Source: <https://developer.apple.com/documentation/cfnetwork/global-proxy-settings-constants>
public let kCFNetworkProxiesHTTPEnable = "HTTPEnable"
/// The name or address of the proxy for http URLs, a `String`.
public let kCFNetworkProxiesHTTPProxy = "HTTPProxy"
/// That proxy's port, a number; the default is 80.
public let kCFNetworkProxiesHTTPPort = "HTTPPort"

/// Whether https URLs have a proxy: a Boolean, or a number other than 0.
public let kCFNetworkProxiesHTTPSEnable = "HTTPSEnable"
/// The name or address of the proxy for https URLs, a `String`: an HTTP proxy, reached through tunnels.
public let kCFNetworkProxiesHTTPSProxy = "HTTPSProxy"
/// That proxy's port, a number; the default is 443.
public let kCFNetworkProxiesHTTPSPort = "HTTPSPort"

/// Whether ftp URLs have a proxy: a Boolean, or a number other than 0.
public let kCFNetworkProxiesFTPEnable = "FTPEnable"
/// The name or address of the HTTP proxy for ftp URLs, a `String`.
public let kCFNetworkProxiesFTPProxy = "FTPProxy"
/// That proxy's port, a number; the default is 80.
public let kCFNetworkProxiesFTPPort = "FTPPort"

/// Whether there is a SOCKS proxy for all URLs without another proxy: a Boolean, or a number other than 0.
public let kCFNetworkProxiesSOCKSEnable = "SOCKSEnable"
/// The name or address of the SOCKS 5 proxy, a `String`. It resolves names.
public let kCFNetworkProxiesSOCKSProxy = "SOCKSProxy"
/// That proxy's port, a number; the default is 1080.
public let kCFNetworkProxiesSOCKSPort = "SOCKSPort"

/// The hosts to reach without a proxy, an array of `String`s: names, names with asterisks, addresses and address ranges.
public let kCFNetworkProxiesExceptionsList = "ExceptionsList"
/// Whether names without a dot are reached without a proxy: a Boolean, or a number other than 0.
public let kCFNetworkProxiesExcludeSimpleHostnames = "ExcludeSimpleHostnames"

/// Whether a script chooses the proxy: a Boolean, or a number other than 0. Not supported: with it, tasks fail.
public let kCFNetworkProxiesProxyAutoConfigEnable = "ProxyAutoConfigEnable"
/// The URL of the proxy script, a `String`.
public let kCFNetworkProxiesProxyAutoConfigURLString = "ProxyAutoConfigURLString"

/// The user name for the dictionary's proxies, a `String`.
public let kCFProxyUsernameKey = "kCFProxyUsernameKey"
/// The password for the dictionary's proxies, a `String`.
public let kCFProxyPasswordKey = "kCFProxyPasswordKey"
