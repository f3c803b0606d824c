import CurlNetworking
import Foundation

// This program also does the background downloads.
CurlBackgroundAgent.runIfStartedAsAgent()

exit(await Invocation.run(Array(CommandLine.arguments.dropFirst())))
