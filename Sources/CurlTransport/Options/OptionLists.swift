import CCurlNetworkingLibcurl

/// The C lists that an easy handle's options point to. They live as long as this value, which must outlive the handle.
struct OptionLists: ~Copyable {
    /// Most transfers have a single list, their header fields, and so need no array.
    private var first: List?
    private var others: [List] = []
    /// Retained, since libcurl reads its list until the transfer is over.
    var shared: HeaderList?

    typealias List = UnsafeMutablePointer<curl_slist>

    deinit {
        curl_slist_free_all(first)
        for list in others { curl_slist_free_all(list) }
    }

    /// Makes a list of `lines`. nil if there are none, or if memory runs out.
    mutating func make(_ lines: [String]) -> List? {
        guard let list = Self.list(of: lines) else { return nil }
        if first == nil { first = list } else { others.append(list) }
        return list
    }

    /// nil if there are no lines, or if memory runs out. The caller frees it.
    fileprivate static func list(of lines: [String]) -> List? {
        var (list, last) = (List?.none, List?.none)
        for line in lines {
            // libcurl walks to the end of the list it is given.
            guard let end = curl_slist_append(last, line) else {
                curl_slist_free_all(list)
                return nil
            }
            list = list ?? end
            last = end.pointee.next ?? end
        }
        return list
    }
}

/// Header lines that most transfers send, with one C list for all of them.
package final class HeaderList: Sendable {
    package let lines: [String]
    /// Never changes: libcurl only reads it, on any number of loops. nil if there are no lines, or if memory ran out.
    nonisolated(unsafe) let list: OptionLists.List?

    package init(_ lines: [String]) {
        self.lines = lines
        list = OptionLists.list(of: lines)
    }

    deinit {
        curl_slist_free_all(list)
    }
}
