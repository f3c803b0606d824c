// The language mode that this copy of `Shared` is compiled in.
let languageMode = "Swift 6"
