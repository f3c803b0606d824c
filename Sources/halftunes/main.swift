import CurlNetworking
import Foundation

// The program that downloads in the background is this one, too.
CurlBackgroundAgent.runIfStartedAsAgent()

exit(await Invocation.run(Array(CommandLine.arguments.dropFirst())))
