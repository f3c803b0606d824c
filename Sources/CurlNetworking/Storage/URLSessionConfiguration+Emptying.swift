import Foundation

extension URLSessionConfiguration {
    /// Removes all credentials, and then, which may take longer, all cached responses and cookies. May write files, even after it has
    /// returned: see `SessionSettings.afterStorageWrites`.
    func emptyStorages() {
        if let urlCredentialStorage {
            for (space, credentials) in urlCredentialStorage.allCredentials {
                for credential in credentials.values { urlCredentialStorage.remove(credential, for: space) }
                // A default with the user's old password, which the stock method for storing a new one leaves there.
                guard let old = urlCredentialStorage.defaultCredential(for: space) else { continue }
                urlCredentialStorage.remove(old, for: space)
            }
        }
        if let urlCache { CacheStores.store(over: urlCache).removeAll() }
        if let httpCookieStorage { CookieStore.store(over: httpCookieStorage).removeAll() }
    }
}
