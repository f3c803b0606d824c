extension Song {
    /// All songs, in the order in which searches find them. The melodies are in the public domain.
    static let all: [Song] = [
        Song(
            id: 1001,
            title: "Minuet in G",
            artist: "The Loopback Quartet",
            album: "Bach for Beginners",
            number: 1,
            genre: "Classical",
            sha256: "833bdcaf6a572dd0573e17d70d4f762c94347f499a07ae3a969fb05d8584fe4c",
            unit: 210,
            melody: """
                D5 G4:1 A4:1 B4:1 C5:1 D5 G4 G4 E5 C5:1 D5:1 E5:1 F#5:1 G5 G4 G4 C5 D5:1 C5:1 B4:1 A4:1 B4 C5:1 \
                B4:1 A4:1 G4:1 F#4 G4:1 A4:1 B4:1 G4:1 A4:6 D5 G4:1 A4:1 B4:1 C5:1 D5 G4 G4 E5 C5:1 D5:1 E5:1 \
                F#5:1 G5 G4 G4 C5 D5:1 C5:1 B4:1 A4:1 B4 C5:1 B4:1 A4:1 G4:1 A4 B4:1 A4:1 G4:1 F#4:1 G4:6
                """
        ),
        Song(
            id: 1002,
            title: "Prelude in C",
            artist: "The Loopback Quartet",
            album: "Bach for Beginners",
            number: 2,
            genre: "Classical",
            sha256: "df2a8dab17b93eb99779bec455ad0c644b5fa024663e1fbea8e1bb4bbcc99228",
            unit: 100,
            melody: """
                C4 E4 G4 C5 E5 G4 C5 E5 C4 E4 G4 C5 E5 G4 C5 E5 C4 D4 A4 D5 F5 A4 D5 F5 C4 D4 A4 D5 F5 A4 D5 F5 \
                B3 D4 G4 D5 F5 G4 D5 F5 B3 D4 G4 D5 F5 G4 D5 F5 C4 E4 G4 C5 E5 G4 C5 E5 C4 E4 G4 C5 E5 G4 C5 E5 \
                C4 E4 A4 E5 A5 A4 E5 A5 C4 E4 A4 E5 A5 A4 E5 A5 C4 D4 F#4 A4 D5 F#4 A4 D5 C4 D4 F#4 A4 D5 F#4 A4 \
                D5 B3 D4 G4 D5 G5 G4 D5 G5 B3 D4 G4 D5 G5 G4 D5 G5 B3 C4 E4 G4 C5 E4 G4 C5 B3 C4 E4 G4 C5 E4 G4 \
                C5 A3 C4 E4 G4 C5 E4 G4 C5 A3 C4 E4 G4 C5 E4 G4 C5 D3 A3 D4 F#4 C5 D4 F#4 C5 D3 A3 D4 F#4 C5 D4 \
                F#4 C5 G3 B3 D4 G4 B4 D4 G4 B4 G3 B3 D4 G4 B4 D4 G4 B4
                """
        ),
        Song(
            id: 1003,
            title: "Jesu, Joy of Man's Desiring",
            artist: "The Loopback Quartet",
            album: "Bach for Beginners",
            number: 3,
            genre: "Classical",
            sha256: "debcfa74d009d58a80e66f8683c847a39443318561b0011211c07abef72c6b1d",
            unit: 110,
            melody: """
                R G4 A4 B4 D5 C5 C5 E5 D5 D5 G5 F#5 G5 D5 B4 G4 A4 B4 C5 D5 E5 D5 C5 B4 A4 B4 G4 F#4 G4 A4 D4 \
                F#4 A4 C5 B4 A4 B4 G4 A4 B4 D5 C5 C5 E5 D5 D5 G5 F#5 G5 D5 B4 G4 A4 B4 E5 D5 C5 B4 A4 G4 D4 G4 \
                F#4 G4:6
                """
        ),
        Song(
            id: 1004,
            title: "Toccata in D minor",
            artist: "The Loopback Quartet",
            album: "Bach for Beginners",
            number: 4,
            genre: "Classical",
            sha256: "51a65a8753fa95a83aec324a0948fc0ac6f2c3a31bb0bac4f7422cd2905b3b66",
            unit: 120,
            melody: """
                A4:1 G4:1 A4:12 R G4:1 F4:1 E4:1 D4:1 C#4:4 D4:8 R:4 A3:1 G3:1 A3:12 R E3:3 F3:3 C#3:3 D3:10 R:4 \
                D3:4 C#4:4 E4:4 G4:4 A#4:4 C#5:10 R D5:10 R:6
                """
        ),
        Song(
            id: 1005,
            title: "Ode to Joy",
            artist: "Edith Handle",
            album: "Beethoven by Heart",
            number: 1,
            genre: "Classical",
            sha256: "86e1be1cc499e411d7399bb09aec2b80f767b4bd4b6de002d787c2e4f1186254",
            unit: 200,
            melody: """
                E4 E4 F4 G4 G4 F4 E4 D4 C4 C4 D4 E4 E4:3 D4:1 D4:4 E4 E4 F4 G4 G4 F4 E4 D4 C4 C4 D4 E4 D4:3 C4:1 \
                C4:4 D4 D4 E4 C4 D4 E4:1 F4:1 E4 C4 D4 E4:1 F4:1 E4 D4 C4 D4 G3:4 E4 E4 F4 G4 G4 F4 E4 D4 C4 C4 \
                D4 E4 D4:3 C4:1 C4:4
                """
        ),
        Song(
            id: 1006,
            title: "Für Elise",
            artist: "Edith Handle",
            album: "Beethoven by Heart",
            number: 2,
            genre: "Classical",
            sha256: "c7e03a198876e3068d2611def1c308d84230cec53e598664e1981db470063b58",
            unit: 90,
            melody: """
                E5 D#5 E5 D#5 E5 B4 D5 C5 A4:4 R C4 E4 A4 B4:4 R E4 G#4 B4 C5:4 R E4 E5 D#5 E5 D#5 E5 B4 D5 C5 \
                A4:4 R C4 E4 A4 B4:4 R E4 C5 B4 A4:6 R B4 C5 D5 E5:6 G4 F5 E5 D5:6 F4 E5 D5 C5:6 E4 D5 C5 B4:4 R \
                E4 E5 R
                """
        ),
        Song(
            id: 1007,
            title: "Moonlight Sonata",
            artist: "Edith Handle",
            album: "Beethoven by Heart",
            number: 3,
            genre: "Classical",
            sha256: "b3f203963cdbd92001698bddbe0050feee28e26c6c7a765c986fb640802ac5ec",
            unit: 130,
            melody: """
                G#3 C#4 E4 G#3 C#4 E4 G#3 C#4 E4 G#3 C#4 E4 G#3 C#4 E4 G#3 C#4 E4 G#3 C#4 E4 G#3 C#4 E4 A3 C#4 \
                E4 A3 C#4 E4 A3 D4 F#4 A3 D4 F#4 G#3 C4 F#4 G#3 C#4 E4 G#3 C#4 D#4 F#3 C4 D#4 E3 G#3 C#4 G#3 C#4 \
                E4 G#3 C#4 E4 G#3 C#4 E4
                """
        ),
        Song(
            id: 1008,
            title: "Symphony No. 5",
            artist: "Edith Handle",
            album: "Beethoven by Heart",
            number: 4,
            genre: "Classical",
            sha256: "b1cb6a616d0a12974577c09b713e97452069c5d246487ff570d30a977444f261",
            unit: 110,
            melody: """
                R G4 G4 G4 D#4:10 R F4 F4 F4 D4:12 R G4 G4 G4 D#4 G#4 G#4 G#4 G4 D#5 D#5 D#5 C5:6 R G4 G4 G4 D4 \
                G#4 G#4 G#4 G4 F5 F5 F5 D5:6 R G5 G5 F5 D#5:6 R G5 G5 F5 D#5:6 R G5 G5 F5 D#5:4 C5:4 G5:10 R:4
                """
        ),
        Song(
            id: 1009,
            title: "Frère Jacques",
            artist: "The Multi Sockets",
            album: "Songs from Everywhere",
            number: 1,
            genre: "Folk",
            sha256: "2c87e913e1a8ec4b1dfd5ca452728158aa5fcbfa1f482e4c4109b195ff2d0f0d",
            unit: 190,
            melody: """
                C4 D4 E4 C4 C4 D4 E4 C4 E4 F4 G4:4 E4 F4 G4:4 G4:1 A4:1 G4:1 F4:1 E4 C4 G4:1 A4:1 G4:1 F4:1 E4 \
                C4 C4 G3 C4:4 C4 G3 C4:4
                """
        ),
        Song(
            id: 1010,
            title: "Greensleeves",
            artist: "The Multi Sockets",
            album: "Songs from Everywhere",
            number: 2,
            genre: "Folk",
            sha256: "718560df88b2436057cf9b742501d9597a7150a09257001844678fdd2d6cb89b",
            unit: 170,
            melody: """
                A4 C5:4 D5 E5:3 F5:1 E5 D5:4 B4 G4:3 A4:1 B4 C5:4 A4 A4:3 G#4:1 A4 B4:4 G#4 E4:4 A4 C5:4 D5 E5:3 \
                F5:1 E5 D5:4 B4 G4:3 A4:1 B4 C5:3 B4:1 A4 G#4:3 F#4:1 G#4 A4:6 A4:6
                """
        ),
        Song(
            id: 1011,
            title: "Scarborough Fair",
            artist: "The Multi Sockets",
            album: "Songs from Everywhere",
            number: 3,
            genre: "Folk",
            sha256: "f45c14de4b9b816bef875150b3807d006316df52e69ba0f66a53843e4cffbc3b",
            unit: 180,
            melody: """
                A3:4 A3 E4 E4 E4 B3:3 C4:1 B3 A3:6 R E4 G4 A4:4 G4 E4 F#4 D4 E4:8 R A4:4 A4 A4:4 G4 E4:4 E4 D4 \
                C4 B3:8 R A3:4 E4 D4:4 C4 B3 A3 G3 A3:8 R:4
                """
        ),
        Song(
            id: 1012,
            title: "Auld Lang Syne",
            artist: "The Multi Sockets",
            album: "Songs from Everywhere",
            number: 4,
            genre: "Folk",
            sha256: "f7324df6c7142ea81a1edeb6d47092aecd08a3bc3d15c2b2ac2b5eee85271c09",
            unit: 170,
            melody: """
                C4 F4:3 E4:1 F4 A4 G4:3 F4:1 G4 A4 F4:3 F4:1 A4 C5 D5:6 D5 C5:3 A4:1 A4 F4 G4:3 F4:1 G4 A4 F4:3 \
                D4:1 D4 C4 F4:6 D5 C5:3 A4:1 A4 F4 G4:3 F4:1 G4 D5 C5:3 A4:1 A4 C5 D5:6 D5 C5:3 A4:1 A4 F4 G4:3 \
                F4:1 G4 A4 F4:3 D4:1 D4 C4 F4:6
                """
        ),
        Song(
            id: 1013,
            title: "Korobeiniki",
            artist: "Reader & Writer",
            album: "Danced and Stamped",
            number: 1,
            genre: "Dance",
            sha256: "8f3b40b3c67047625216b7cbf4ceacbed1bbb3bcade7f9a7cc1dffe5a0cf841b",
            unit: 120,
            melody: """
                E5:4 B4 C5 D5:4 C5 B4 A4:4 A4 C5 E5:4 D5 C5 B4:6 C5 D5:4 E5:4 C5:4 A4:4 A4:8 R D5:4 F5 A5:4 G5 \
                F5 E5:6 C5 E5:4 D5 C5 B4:4 B4 C5 D5:4 E5:4 C5:4 A4:4 A4:8
                """
        ),
        Song(
            id: 1014,
            title: "Can-Can",
            artist: "Reader & Writer",
            album: "Danced and Stamped",
            number: 2,
            genre: "Dance",
            sha256: "f4e856def55314dfcfed0540de5128e92c31d84d77f3be3f4ac97c464d417ea4",
            unit: 100,
            melody: """
                C4:4 D4 F4 E4 D4 G4:4 G4:4 G4 A4 E4 F4 D4:4 D4:4 D4 F4 E4 D4 C4 C5 B4 A4 G4 F4 E4 D4 C4:4 D4 F4 \
                E4 D4 G4:4 G4:4 G4 A4 E4 F4 D4:4 D4:4 D4 F4 E4 D4 C4 G4 D4 E4 C4:4 R:4
                """
        ),
        Song(
            id: 1015,
            title: "In the Hall of the Mountain King",
            artist: "Reader & Writer",
            album: "Danced and Stamped",
            number: 3,
            genre: "Dance",
            sha256: "cb6492790ff8ef2f8aae657f071ac1567279a047a658156f2e891bc373f00503",
            unit: 130,
            melody: """
                B3 C#4 D4 E4 F#4 D4 F#4:4 F4 C#4 F4:4 E4 C4 E4:4 B3 C#4 D4 E4 F#4 D4 F#4 B4 A4 F#4 D4 F#4 A4:8 \
                B3 C#4 D4 E4 F#4 D4 F#4:4 F4 C#4 F4:4 E4 C4 E4:4 B3 C#4 D4 E4 F#4 D4 F#4 B4 A4 F#4 D4 F#4 A4:8
                """
        ),
        Song(
            id: 1016,
            title: "Canon in D",
            artist: "Reader & Writer",
            album: "Danced and Stamped",
            number: 4,
            genre: "Dance",
            sha256: "5abdee6d4ce1d64885f881492f03d16fc16fea117588df0d0f165f005246ab78",
            unit: 140,
            melody: """
                F#5:4 E5:4 D5:4 C#5:4 B4:4 A4:4 B4:4 C#5:4 D5:4 C#5:4 B4:4 A4:4 G4:4 F#4:4 G4:4 E4:4 D4 F#4 A4 \
                G4 F#4 D4 F#4 E4 D4 B3 D4 A4 G4 B4 A4 G4 F#4 D4 E4 C#5 D5 F#5 A5 A4 B4 G4 A4 F#4 D4 D5 D5:3 \
                C#5:1
                """
        ),
    ]
}
