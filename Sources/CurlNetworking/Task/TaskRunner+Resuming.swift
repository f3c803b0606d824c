import Foundation

// What a resumed download does with the server's answers. Everything on the loop.

extension TaskRunner {
    func resume(
        _ resumption: Resumption,
        with head: ResponseHead,
        to request: URLRequest
    ) throws(URLError) -> Exchange.BodyRoute {
        let offset = resumption.offset
        switch ResumePolicy.decision(for: head, to: resumption) {
        case .append(let end, let completeLength):
            let length = completeLength ?? NSURLSessionTransferSizeUnknown
            try accept(head, to: request, offset: offset, length: length)
            loading.resumption = nil
            loading.appending = Loading.Appending(offset: offset, end: end, completeLength: completeLength)
            if loading.appendedValidator == nil { post(.resumed(offset: offset, expectedTotalBytes: length)) }
            loading.appendedValidator = resumption.validator
            return .deliver
        case .complete:
            try accept(head.completed(length: offset), to: request, offset: offset, length: offset)
            loading.resumption = nil
            post(.resumed(offset: offset, expectedTotalBytes: offset))
            return .discard
        case .startOver:
            try startOver()
            try accept(head, to: request)
            return .deliver
        case .askAgain:
            try startOver()
            loading.nextRequest = request
            return .discard
        case .deliver:
            // The server's trouble is not the partial file's: it can still be resumed from later.
            loading.supersedesPartialFile = false
            try startOver()
            try accept(head, to: request)
            return .deliver
        }
    }

    /// The next bytes get a file of their own: a checkpoint may have named the old one, and must not find other content under its name.
    private func startOver() throws(URLError) {
        loading.resumption = nil
        loading.appendedValidator = nil
        guard let file = loading.file.take() else { return }
        file.remove()
        loading.file = try DownloadFile(in: session.settings.temporaryDirectory)
    }

    /// Whether something is still to be asked for, now that an appended body is over; true where that goes on.
    func continuesAppending(_ request: URLRequest) throws(URLError) -> Bool {
        guard let appending = loading.appending.take(), let file = loading.file,
            let validator = loading.appendedValidator
        else { return false }
        switch ResumePolicy.ending(
            at: file.length,
            from: appending.offset,
            end: appending.end,
            completeLength: appending.completeLength
        )
        {
        case .complete:
            return false
        case .askForRest:
            try loading.budget.spendPart(of: request.url, at: file.length)
            loading.resumption = Resumption(
                offset: file.length,
                validator: validator,
                completeLength: appending.completeLength
            )
        case .askAgain:
            try startOver()
        case .fail:
            throw URLError(.networkConnectionLost, request.url, "The server sent less than it announced.")
        }
        follow(request)
        return true
    }
}

extension ResponseHead {
    /// What a server would have said to a range that is all it has: a 416's own fields describe an error page.
    fileprivate func completed(length: Int64) -> ResponseHead {
        var head = self
        head.status = 206
        head.fields.removeAll {
            $0.name.utf8.count > 8 && String($0.name.prefix(8)).isEqualIgnoringASCIICase(to: "Content-")
        }
        head.fields.append(HeaderField(name: "Content-Length", value: "\(length)"))
        if length > 0 {
            head.fields.append(HeaderField(name: "Content-Range", value: "bytes 0-\(length - 1)/\(length)"))
        }
        return head
    }
}
