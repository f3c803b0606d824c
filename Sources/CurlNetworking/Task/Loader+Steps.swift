import CurlTransport
import Foundation

// The loader as seen by steps. On the loop, unless noted otherwise.

extension Loader: StepContext {
    var owner: any StepOwner { handle }
    var isOver: Bool { phase.isEnded }
    var ticket: Admission.Ticket? { place.ticket }

    func fail(_ error: URLError) {
        finish(.failure(error))
    }

    func noteUploaded(_ length: Int64) {
        handle.count { $0.counters.noteUploaded(through: length, of: length) }
    }

    func stepAside() {
        place.stepAside()
    }

    // MARK: - Waiting

    /// A task that was suspended meanwhile continues when it is resumed.
    func proceed(_ step: any Step) {
        switch phase {
        case .waiting(let index, let attempt) where steps.all[index] === step:
            // A retried request may need its body again, whichever step it waited for.
            enter(.ready(step: attempt == .first ? index : 0, attempt))
            if handle.mayBegin { advance() }
        case .encoding: completeAfterWaiting()
        case .storing(let index) where steps.all[index] === step: finishSink()
        case .ready, .waiting, .queued, .moving, .transferring, .held, .deciding, .storing, .finishing,
            .ended:
            break
        }
    }

    // MARK: - A step's own transfer

    func decline(_ step: any Step) {
        guard case .transferring(let transferring) = phase, let index = transferring.step, steps.all[index] === step
        else { return }
        hops.drop()
        prepareNext(from: index + 1)
    }

    func redirect(to request: URLRequest, from old: URLRequest?, by response: URLResponse, _ step: any Step) {
        guard case .transferring = phase else { return }
        hops.note(response)
        enter(.deciding)
        do throws(URLError) {
            switch try steps.redirect.report(request, from: old, by: response, self) {
            case .follow(let next): follow(next)
            case .ask(let held, let response): enter(.held(Phase.Holding(held, .redirect(response))))
            }
        } catch {
            finish(.failure(error))
        }
    }

    // MARK: - Holding a response

    func release(_ held: HoldToken, _ verdict: HeadVerdict) {
        guard case .held(let holding) = phase, holding.token === held else { return }
        do throws(URLError) {
            switch (holding.content, verdict) {
            case (.head(let received, let transferring, let step, let ending), _):
                enter(.transferring(transferring))
                let route = try act(on: verdict, about: received, by: step, transferring)
                if let ending { return transferEnded(ending) }
                transferring.transfer.proceed(to: route)
                // It may not have been paused.
                restartIdleClock()
                rearmClocks()
                run()
            case (.redirect, .follow(let next)), (.failure, .follow(let next)):
                enter(.deciding)
                follow(next)
            case (.redirect(let response), _):
                // The redirect becomes the task's response. Its class was stopped, so there is no body.
                enter(.deciding)
                try accept(AcceptedResponse(response, to: request, expected: 0, storagePolicy: .notAllowed))
                finishSink()
            case (.failure(let ending, let step), _):
                enter(.deciding)
                askSteps(about: ending, from: step + 1)
            }
        } catch {
            finish(.failure(error))
        }
    }
}
