import Foundation

/// Sends a file only as it was when the task was made, however long ago that is. Only tasks of an agent have it.
final class UploadedFileStep: Step {
    private let file: UploadedFile

    init(_ file: UploadedFile) {
        self.file = file
    }

    func encode(_ plan: TransferPlan, _ host: any StepHost) throws(URLError) {
        // The file is open by now.
        guard plan.body != nil else { return }
        let description = "The file to upload has been changed since the task was made."
        try file.check(for: plan.request.url, otherwise: description)
    }
}
