/// Whether, and how, a running transfer is paused.
struct TransferPause {
    /// libcurl's callbacks accept and supply nothing, and the transfer's result is held back until it is resumed.
    var isPaused = false
    /// The multi's `timerRuns` when libcurl was last told to resume: it looks at the socket in the next run.
    var continuation: Int?
    /// The result of a transfer that ended while it was paused.
    var result: TransferResult?
}
