import CurlNetworking
import Foundation

// This program also does the background downloads.
CurlBackgroundAgent.runIfStartedAsAgent()

let code = await Invocation.run(Array(CommandLine.arguments.dropFirst()))
if code == 0, Console.hasLostOutput {
    Console.printError("the output can't be written")
    exit(1)
}
exit(code)
