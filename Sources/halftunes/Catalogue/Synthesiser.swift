/// Plays a melody as 16-bit stereo samples, any of which can be computed without the ones before it.
///
/// All arithmetic is on integers, so that the same melody gives the same bytes on every machine. The inner loop is deliberately plain: it
/// has to keep up in a debug build, too.
struct Synthesiser: Sendable {
    static let frameRate = 44_100
    static let channels = 2

    /// A note's start, length and pitch.
    private struct Tone {
        let start: Int
        let end: Int
        /// Added to the phase in each frame, where a full turn is 2³²; 0 is silence.
        let step: UInt32
    }

    private let tones: [Tone]
    /// The melody's length; it repeats after that.
    private let period: Int
    let frameCount: Int

    /// How long a note takes to reach full volume: 5 ms, so that it starts without a click.
    private static let attack = 220
    /// The end fades out over two seconds.
    private static let fade = 2 * frameRate

    init(_ melody: Melody, unitMilliseconds: Int, seconds: Int) {
        let framesPerUnit = max(1, unitMilliseconds * Self.frameRate / 1000)
        var tones: [Tone] = []
        var start = 0
        for note in melody.notes {
            let end = start + note.length * framesPerUnit
            tones.append(Tone(start: start, end: end, step: note.pitch.map(Self.step) ?? 0))
            start = end
        }
        self.tones = tones
        period = max(1, start)
        frameCount = seconds * Self.frameRate
    }

    /// The phase steps of C8 to B8, pitches 108 to 119: frequency ÷ frame rate × 2³². Each octave lower is half of that.
    private static let steps: [UInt32] = [
        407_681_904, 431_923_931, 457_607_465, 484_818_220, 513_647_012, 544_190_053,
        576_549_277, 610_832_681, 647_154_683, 685_636_503, 726_406_571, 769_600_953,
    ]

    private static func step(ofPitch pitch: Int) -> UInt32 {
        steps[(pitch + 1200) % 12] >> UInt32(max(0, 9 - pitch / 12))
    }

    /// Fills `samples`, two per frame, left before right, with the frames from `first` on, as little-endian numbers.
    func render(from first: Int, into samples: UnsafeMutableBufferPointer<Int16>) {
        guard let target = samples.baseAddress else { return }
        let count = samples.count / Self.channels
        var index = 0
        while index < count {
            let time = (first + index) % period
            let tone = tones[toneIndex(at: time)]
            let run = min(count - index, tone.end - time)
            render(tone, from: time, frame: first + index, count: run, into: target + Self.channels * index)
            index += run
        }
    }

    /// Within one tone.
    private func render(_ tone: Tone, from time: Int, frame: Int, count: Int, into target: UnsafeMutablePointer<Int16>)
    {
        let length = tone.end &- tone.start
        var local = time &- tone.start
        var untilEnd = frameCount &- frame
        var index = 0
        while index < count {
            // Volume, out of 32768: up at once, then down along a parabola.
            let left = ((length &- local) &<< 15) / length
            var loudness = (left &* left) &>> 15
            if local < Self.attack { loudness = loudness &* local / Self.attack }
            if untilEnd < Self.fade { loudness = loudness &* untilEnd / Self.fade }

            let turns = UInt32(truncatingIfNeeded: local)
            let high = (Self.wave(turns &* tone.step) &* loudness) &>> 16
            // An octave lower, and softer.
            let low = (Self.wave(turns &* (tone.step &>> 1)) &* loudness) &>> 17
            target[2 &* index] = Int16(truncatingIfNeeded: (3 &* high &+ low) &>> 2).littleEndian
            target[2 &* index &+ 1] = Int16(truncatingIfNeeded: (high &+ 3 &* low) &>> 2).littleEndian
            index = index &+ 1
            local = local &+ 1
            untilEnd = untilEnd &- 1
        }
    }

    /// Two parabolas instead of a sine, ±32768: nearly as smooth, and exact.
    private static func wave(_ phase: UInt32) -> Int {
        let angle = Int(Int32(bitPattern: phase) &>> 16)
        return (angle &* (32768 &- (angle < 0 ? 0 &- angle : angle))) &>> 13
    }

    private func toneIndex(at time: Int) -> Int {
        var low = 0
        var high = tones.count - 1
        while low < high {
            let middle = (low + high + 1) / 2
            if tones[middle].start <= time { low = middle } else { high = middle - 1 }
        }
        return low
    }
}
