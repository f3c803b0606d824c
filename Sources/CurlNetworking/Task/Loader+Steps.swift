import CurlTransport
import Foundation

// The loader as seen by steps. On the loop, unless noted otherwise.

extension Loader: StepHost {
    var owner: any StepOwner { handle }
    var isOver: Bool { phase.isEnded }
    var ticket: Admission.Ticket? { place.ticket }

    func fail(_ error: URLError) {
        finish(.failure(error))
    }

    func noteUploaded(_ length: Int64) {
        handle.count { $0.counters.noteUploaded(through: length, of: length) }
    }

    // MARK: - Waiting

    /// A task that was suspended meanwhile continues when it is resumed.
    func proceed(_ step: any Step) {
        switch phase {
        case .waiting(let index, let attempt) where steps.all[index] === step:
            // A repeated request may need a body again, whichever step it waited for.
            enter(.ready(step: attempt == .first ? index : 0, attempt))
            if isQueued { advance() }
        case .encoding:
            completeAfterWaiting()
        case .storing(let index) where steps.all[index] === step:
            finishWithBody()
        case .ready, .waiting, .queued, .moving, .transferring, .held, .deciding, .storing, .ended:
            break
        }
    }

    // MARK: - A step's own transfer

    func decline(_ step: any Step) {
        guard case .transferring(let transferring) = phase, let index = transferring.step, steps.all[index] === step
        else { return }
        hops.drop()
        requeue(at: index + 1)
    }

    func redirect(to request: URLRequest, from old: URLRequest?, by response: URLResponse, _ step: any Step) {
        guard case .transferring(let transferring) = phase else { return }
        hops.note(response)
        enter(.deciding)
        do throws(URLError) {
            switch try steps.redirect.report(request, from: old, by: response, self) {
            case .follow(let next):
                follow(next)
            case .hold(let held):
                guard let response = response as? HTTPURLResponse else { return }
                let nextStep = steps.all.count
                hold(Phase.Holding(held, .redirect(response), nextStep, transferring, ending: TransferEnding()))
                run()
            case .pass, .load, .deliver:
                try finish(withRedirect: response)
            }
        } catch {
            finish(.failure(error))
        }
    }

    /// The redirect becomes the task's response. Its class was stopped: there is no body.
    private func finish(withRedirect response: URLResponse) throws(URLError) {
        try accept(AcceptedResponse(response, to: request, expected: 0, storagePolicy: .notAllowed))
        finishWithBody()
    }

    // MARK: - Holding a response

    func hold(_ holding: Phase.Holding) {
        enter(.held(holding))
        handle.shared.withLock { $0.machine.setHeld(true) }
    }

    func release(_ held: HeldResponse, _ verdict: HeadVerdict) {
        guard case .held(let holding) = phase, holding.response === held else { return }
        handle.shared.withLock { $0.machine.setHeld(false) }
        do throws(URLError) {
            if case .head(let received) = holding.content { return try release(holding, received, verdict) }
            enter(.deciding)
            if case .follow(let next) = verdict {
                follow(next)
            } else if case .redirect(let response) = holding.content {
                try finish(withRedirect: response)
            } else {
                end(holding.ending ?? TransferEnding(), from: holding.nextStep)
            }
        } catch {
            finish(.failure(error))
        }
    }

    private func release(
        _ holding: Phase.Holding,
        _ received: ReceivedHead,
        _ verdict: HeadVerdict
    ) throws(URLError) {
        guard let transferring = holding.transferring else { return }
        enter(.transferring(transferring))
        let route =
            if case .pass = verdict {
                try decide(about: received, from: holding.nextStep, transferring)
            } else {
                try act(on: verdict, about: holding.content, by: holding.nextStep - 1, transferring)
            }
        guard let ending = holding.ending else {
            transferring.transfer.proceed(to: route)
            return run()
        }
        conclude(ending)
    }
}
