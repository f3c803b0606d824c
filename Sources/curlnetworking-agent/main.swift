import CurlNetworking
import Foundation

exit(AgentCommand.run(Array(CommandLine.arguments.dropFirst())))
