# What .ci/sizes does. It knows lines, not Swift: swift-format puts what is declared at file scope, and the brace that closes it, at the
# start of a line, and members four spaces in.

# `import struct Module.Type` declares nothing.
!type && !/^([a-z@][^ ]* )*import / && match($0, /^([a-z@][^ ]* )*(struct|class|enum|protocol|actor|extension) [A-Z][A-Za-z0-9_.]*/) {
    count = split(substr($0, RSTART, RLENGTH), words, " ")
    type = words[count]
    # What a nested type is extended by counts for the type around it.
    sub(/\..*/, "", type)
    kind = words[count - 1]
    if (kind != "extension") {
        # Where several modules have a type of that name, they count as one.
        home[type] = FILENAME
        if (FILENAME ~ /\/API\//) isExempt[type] = 1
    }
    isOnOneLine = /}$/
}

type {
    lines[type]++
    if ((kind == "class" || kind == "struct") && isStored()) {
        fields[type]++
        # A type of constants is a value, which may be as large as what it stands for.
        if (/^    [^=:]*var /) hasState[type] = 1
    }
    if (/^}/ || isOnOneLine) type = ""
}

END {
    for (name in home) {
        if (mode == "--list") {
            note = isExempt[name] ? " (in API)" : ""
            printf "%5d lines %3d fields  %s%s\n", lines[name], fields[name], name, note | "sort -rn | sed 40q"
        } else if (!isExempt[name]) {
            check(name, "lines with its extensions", lines[name], mostLines)
            if (hasState[name]) check(name, "stored fields", fields[name], mostFields)
        }
    }
    exit failed
}

# Whether the line declares a member that isn't computed. A brace after the equals sign begins a closure, the value.
function isStored(    declaration) {
    if (!/^    (@[A-Za-z]+(\([^)]*\))? |[a-z]+(\([a-z]+\))? )*(let|var) / || /^    [^=]*static /) return 0
    declaration = $0
    sub(/ = .*/, "", declaration)
    return declaration !~ /{/ || declaration ~ /{ *(didSet|willSet)/
}

function check(name, what, found, most) {
    if (found <= most) return
    print home[name] ": error: " name " has " found " " what ", more than " most > "/dev/stderr"
    failed = 1
}
