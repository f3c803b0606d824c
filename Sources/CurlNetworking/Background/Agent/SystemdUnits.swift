import Foundation

/// User units with which systemd starts an agent when a program connects (systemd.socket(5), systemd.service(5)).
struct SystemdUnits {
    /// The folder with the program's state.
    let folder: StateFolder
    /// The path of the agent's program.
    let program: String

    /// Both files, with their names.
    var text: String {
        let path = Self.value(folder.url.path)
        return """
            # ~/.config/systemd/user/\(name).socket
            [Unit]
            Description=Background transfers in \(path)

            [Socket]
            ListenStream=\(path)/\(StateFolder.socketName)
            SocketMode=0600
            DirectoryMode=0700

            [Install]
            WantedBy=sockets.target

            # ~/.config/systemd/user/\(name).service
            [Unit]
            Description=Background transfers in \(path)

            [Service]
            ExecStart=\(Self.word(program)) --systemd \(Self.argument(folder.url.path))
            KillMode=process

            """
    }

    /// A readable name, unique to the folder.
    private var name: String {
        let readable = folder.url.lastPathComponent.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
        return "curlnetworking-\(readable)-\(SHA256.digest(of: folder.url.path.utf8).prefix(8))"
    }

    /// A line's whole value, in which only a percent sign is special: it begins a specifier (systemd.unit(5)).
    private static func value(_ text: String) -> String {
        text.replacingOccurrences(of: "%", with: "%%", options: .literal)
    }

    /// A quoted word of a command line (systemd.syntax(7)). In the first, which is the program, variables aren't replaced.
    private static func word(_ text: String) -> String {
        value(text).quoted
    }

    /// Any later word of a command line.
    private static func argument(_ text: String) -> String {
        word(text).replacingOccurrences(of: "$", with: "$$", options: .literal)
    }
}
