import CurlTransport
import Foundation

/// Continues a download from a partial file, and assembles it from however many parts the server sends.
///
/// `@unchecked Sendable`: used on the loop only.
final class ResumeStep: Step, @unchecked Sendable {
    private enum Preparation {
        case none(ResumeData)
        /// The partial file is being copied.
        case copying
        case failed(URLError)
        case done
    }

    /// A part of the representation is being appended to the file.
    private struct Appending {
        var offset: Int64
        var end: Int64
    }

    private let file: FileSink
    private var preparation: Preparation
    /// Set while the file has content to resume from, and the server is asked for the rest.
    private var resumption: Resumption?
    private var appending: Appending?

    init(_ resumeData: ResumeData, into file: FileSink) {
        self.file = file
        preparation = .none(resumeData)
    }

    // MARK: - The partial file

    func prepare(_ attempt: RequestAttempt, _ context: any StepContext) -> RequestVerdict {
        switch preparation {
        case .done: return .pass
        case .copying: return .wait
        case .failed(let error): return .fail(error)
        case .none(let resumeData):
            preparation = .copying
            let directory = context.session.settings.temporaryDirectory
            // Copying can take longer than the loop can spare.
            WorkThreads.files.run {
                nonisolated(unsafe) let copy = Result { () throws(URLError) in
                    try DownloadFile(copying: resumeData.partialFile, in: directory)
                }
                if case .success = copy { resumeData.superseded?.remove(in: directory) }
                context.owner.submit { self.prepared(resuming: resumeData, from: copy, context) }
            }
            return .wait
        }
    }

    /// `copy` is nil if the partial file is gone or has changed: then the download starts from zero.
    private func prepared(
        resuming resumeData: ResumeData,
        from copy: Result<DownloadFile?, URLError>,
        _ context: any StepContext
    ) {
        switch copy {
        case .failure(let error):
            preparation = .failed(error.forRequest(to: resumeData.request.urlRequest.url))
        case .success(let copy):
            preparation = .done
            if context.isOver {
                nonisolated(unsafe) let copy = copy
                WorkThreads.files.run { copy?.remove() }
            } else if let copy {
                file.adopt(copy)
                resumption = resumeData.resumption(from: copy.length)
            }
        }
        context.proceed(self)
    }

    // MARK: - The server's responses

    func encode(_ plan: TransferPlan, _ context: any StepContext) {
        guard let resumption else { return }
        plan.options?.replaceHeaders(resumption.fields)
        plan.offset = resumption.offset
    }

    func receive(_ received: ReceivedHead, _ context: any StepContext) throws(URLError) -> HeadVerdict {
        guard let resumption else { return .pass }
        let offset = resumption.offset
        switch ResumePolicy.decision(for: received.head, to: resumption) {
        case .append(let end, let completeLength):
            let length = completeLength ?? NSURLSessionTransferSizeUnknown
            self.resumption = nil
            appending = Appending(offset: offset, end: end)
            if file.partial == nil { context.owner.tell(.resumed(offset: offset, expectedTotalBytes: length)) }
            file.partial = Representation(validator: resumption.validator, completeLength: completeLength)
            return .deliver(HeadVerdict.Placement(offset: offset, expected: length))
        case .complete:
            self.resumption = nil
            if !resumption.followsPart { context.owner.tell(.resumed(offset: offset, expectedTotalBytes: offset)) }
            return .deliver(
                HeadVerdict.Placement(
                    head: received.head.completed(length: offset),
                    offset: offset,
                    expected: offset,
                    isComplete: true
                )
            )
        case .startOver:
            startOver()
            return .deliver(HeadVerdict.Placement())
        case .askAgain:
            startOver()
            return .follow(received.request)
        case .deliver:
            // The server's error doesn't invalidate the partial file: it can still be resumed from later.
            file.supersedesPartialFile = false
            startOver()
            return .deliver(HeadVerdict.Placement())
        }
    }

    private func startOver() {
        resumption = nil
        file.startOver()
    }

    /// Asks for what is still missing once an appended part is complete.
    func end(_ ending: TransferEnding, of request: URLRequest, _ context: any StepContext) -> EndVerdict {
        guard ending.error == nil, let part = appending.take(), let length = file.length, let partial = file.partial
        else { return .pass }
        let verdict = ResumePolicy.ending(
            at: length,
            from: part.offset,
            end: part.end,
            completeLength: partial.completeLength
        )
        do throws(URLError) {
            switch verdict {
            case .complete:
                return .pass
            case .askForRest:
                try context.budget.spendPart(of: request.url, at: length)
                resumption = Resumption(
                    offset: length,
                    validator: partial.validator,
                    completeLength: partial.completeLength,
                    followsPart: true
                )
            case .askAgain:
                startOver()
            case .fail:
                throw URLError(.networkConnectionLost, url: request.url, "The server sent less than it announced.")
            }
        } catch {
            return .fail(error)
        }
        return .follow(request)
    }
}

extension ResponseHead {
    /// The 206 that a server would have sent for the whole length: a 416's own fields describe an error page.
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
