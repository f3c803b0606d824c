import Foundation

exit(await Invocation.run(Array(CommandLine.arguments.dropFirst())))
