extension Invocation.Verb {
    /// The output of `--help`.
    var help: String {
        switch self {
        case .interactive: Help.program
        case .demo: Help.demo
        case .search: Help.search
        case .get: Help.get
        case .play: Help.play
        case .upload: Help.upload
        case .serve: Help.serve
        case .stop: Help.stop
        case .resume: Help.resume
        }
    }
}

private enum Help {
    static let program = """
        Half Tunes: search for songs and download their previews.

        usage: halftunes [-o DIR] [--api URL]       browse with the keyboard
               halftunes demo [-o DIR]              see it all happen, hands off
               halftunes search TERM…               list the songs that match
               halftunes get URL…                   download
               halftunes get --search TERM          download the previews of all that match
               halftunes play FILE                  play what was downloaded
               halftunes upload FILE                send your own recording to a catalogue
               halftunes serve                      the embedded catalogue as a server
               halftunes stop                       cancel the background downloads
               halftunes COMMAND --help             more about a command

        The catalogue is an embedded one, which needs no network: its previews are made as they are sent.
        With --api https://itunes.apple.com it is Apple's.

        Keys:  / search   ↑ ↓ or j k move   d or enter download   p pause   r resume   c cancel
               enter play what is downloaded, and again to stop   q quit
        The last line shows which of them apply to the selected song.

        Downloads continue when the program quits, crashes or is killed; started again for the same directory,
        it shows their progress. Those from the embedded catalogue, which ends with the program, continue then.

        options:
          -o, --output DIR     where downloads go (the current directory)
              --api URL        an iTunes Search API, in place of the embedded catalogue
          -j, --parallel N     how many downloads run at once (4)
              --limit N        how many songs a search finds at most (50)
              --rate BYTES     how fast the embedded catalogue sends each preview, per second (1000000)
          -h, --help           this text

        """

    static let demo = """
        Tells the whole story without a keyboard, in about 15 seconds: a search that cancels the one before,
        four downloads at once, one of them paused and resumed by another process, one cancelled; downloads
        in the background, whose program is killed and whose files the next one gets; an upload that resumes
        after its connection broke; and every file compared with the catalogue's SHA-256. Succeeds only if
        all of that held.

        usage: halftunes demo [-o DIR]

        options:
          -o, --output DIR     keep the files here (otherwise they are removed)

        """

    static let search = """
        Lists the songs that match.

        usage: halftunes search TERM… [--api URL] [--limit N]

        options:
              --api URL        an iTunes Search API, in place of the embedded catalogue
              --limit N        how many songs to find at most (50)

        """

    static let get = """
        Downloads files, or the previews of the songs that match a search.

        usage: halftunes get URL… [options]
               halftunes get --search TERM [options]

        Ctrl-C pauses whatever is under way to '.resume' files beside the destinations; the same command
        resumes from there, even if the program was killed. Files whose name is already there are not
        downloaded again: the content isn't compared.

        With --background another process downloads, which continues after Ctrl-C, or if the program is
        killed. The same command shows its progress, and moves complete files into place.

        options:
          -s, --search TERM    search for songs, and get their previews
          -o, --output DIR     where the files go (the current directory)
          -b, --background     continue without the program
          -j, --parallel N     how many downloads run at once (4)
              --limit N        how many songs to find at most (50)
              --api URL        an iTunes Search API, in place of the embedded catalogue
              --rate BYTES     how fast the embedded catalogue sends each preview, per second (1000000)

        Exit status: 0 if everything is there, 1 if something failed, 2 for a wrong command line, and
        128 plus the signal's number if one ended it (130 for Ctrl-C).

        """

    static let play = """
        Plays a file until its end, or Ctrl-C.

        usage: halftunes play FILE

        HALFTUNES_PLAYER names the player, with options if it needs some; without it, that's the first of
        mpv, ffplay, paplay and aplay that is installed.

        """

    static let upload = """
        Uploads a recording to a catalogue, and compares what arrived by SHA-256.

        usage: halftunes upload FILE [--api URL]

        An upload resumes by itself after a lost connection. Ctrl-C pauses it to a '.upload' folder beside the
        recording, and so does an error; the same command resumes from there, and one with another catalogue
        starts anew. None of that works if something else has the folder's name, or it can't be made.

        options:
              --api URL        the catalogue ('halftunes serve', http://127.0.0.1:\(CatalogueServer.usualPort))

        """

    static let serve = """
        Serves the embedded catalogue, for trying it by hand, until Ctrl-C.

        usage: halftunes serve [--port N] [--rate BYTES]

        options:
              --port N         where to listen on 127.0.0.1; 0 is any free port (\(CatalogueServer.usualPort))
              --rate BYTES     how fast to send each preview, per second (1000000)

        """

    static let stop = """
        Cancels all background downloads for one directory.

        usage: halftunes stop [-o DIR]

        options:
          -o, --output DIR     where the files would have gone (the current directory)

        """

    static let resume = """
        Resumes one paused download.

        usage: halftunes resume FILE.resume

        """
}
