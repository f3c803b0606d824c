# What .ci/arrows does: reads the order of folders, then all files for what they declare, then all files for what they use.
#
# It knows words, not Swift. What is declared at file scope starts a line, since swift-format puts it there. A word with a capital
# letter is a use of the type of that name, unless a dot precedes it or its file declares that name itself.

# MARK: The order

!pass && /^[A-Za-z]+ -> [A-Za-z]+$/ {
    excepted[$1, $3] = 1
    exceptions[++exceptionCount] = $1 SUBSEP $3
    next
}

!pass && /^[A-Za-z]/ {
    folders[++count] = $1
    rank[$1] = count
    purpose[count] = $0
    sub(/^[A-Za-z]+ +/, "", purpose[count])
    next
}

!pass { next }

# MARK: Words

FNR == 1 {
    split(FILENAME, parts, "/")
    isModule = parts[2] != "CurlNetworking"
    folder = isModule ? parts[2] : parts[3]
    isText = 0
    if (!(folder in rank)) {
        print FILENAME ": error: " order " doesn't name the folder " folder
        isOver = 1
        exit 1
    }
}

# Without texts of several lines, other texts and comments.
{
    wasText = isText
    if (gsub(/"""/, "") % 2) isText = !isText
    if (wasText) next
    gsub(/\\"/, "")
    gsub(/"[^"]*"/, "")
    sub(/\/\/.*/, "")
}

pass == 1 && match($0, /(struct|class|enum|protocol|actor|typealias) [A-Z][A-Za-z0-9]*/) {
    modifiers = substr($0, 1, RSTART - 1)
    split(substr($0, RSTART, RLENGTH), words, " ")
    declares[FILENAME, words[2]] = 1
    if (modifiers ~ /^([a-z@][^ ]* )*$/ && modifiers !~ /private/ && !(isModule && words[2] in home)) home[words[2]] = folder
}

pass == 2 {
    gsub(/(CurlNetworking|CurlNetworkingLocks|CurlTransport)\./, "")
    while (match($0, /[A-Za-z0-9_.]+/)) {
        type = substr($0, RSTART, RLENGTH)
        $0 = substr($0, RSTART + RLENGTH)
        sub(/\..*/, "", type)
        if (!(type in home) || home[type] == folder || (FILENAME, type) in declares) continue
        # No module sees what depends on it: that is another type of the same name.
        if (isModule && rank[home[type]] < rank[folder]) continue
        arrow = folder SUBSEP home[type]
        uses[arrow]++
        if (!typeUses[arrow, type]++) types[arrow] = types[arrow] " " type
        if (uses[arrow] <= 10) places[arrow] = places[arrow] FILENAME ":" FNR " " type "\n"
    }
}

END {
    if (isOver) exit 1
    if (mode == "check") exit check()
    if (mode == "graph") graph()
    if (mode == "picture") picture()
}

# MARK: What is done with them

# Says what the order doesn't allow, and which exceptions nobody needs; returns whether there was anything to say.
function check(    i, j, k, arrow, names, lines, isWrong) {
    for (i = 1; i <= exceptionCount; i++) {
        split(exceptions[i], names, SUBSEP)
        if (uses[exceptions[i]] && rank[names[1]] > rank[names[2]]) continue
        print order ": error: " names[1] " -> " names[2] " is not needed, so it has to go"
        isWrong = 1
    }
    for (i = 2; i <= count; i++) {
        for (j = 1; j < i; j++) {
            arrow = folders[i] SUBSEP folders[j]
            if (!uses[arrow] || arrow in excepted) continue
            split(places[arrow], lines, "\n")
            for (k = 1; k in lines && lines[k]; k++) {
                split(lines[k], names, " ")
                print names[1] ": error: " folders[i] " must not use " folders[j] ", which has " names[2] ": see " order
            }
            isWrong = 1
        }
    }
    return isWrong
}

function graph(    i, j, arrow, lines) {
    for (i = 1; i <= count; i++) {
        for (j = 1; j <= count; j++) {
            arrow = folders[i] SUBSEP folders[j]
            if (!uses[arrow]) continue
            split(places[arrow], lines, "\n")
            print folders[i] " -> " folders[j] (i > j ? ", against the order" : "") ": " mostUsed(arrow) "; " lines[1]
        }
    }
}

# The types that an arrow stands for, those with the most uses first.
function mostUsed(arrow,    names, n, i, j, name, text) {
    n = split(types[arrow], names, " ")
    for (i = 2; i <= n; i++) {
        name = names[i]
        for (j = i - 1; j > 0 && typeUses[arrow, names[j]] < typeUses[arrow, name]; j--) names[j + 1] = names[j]
        names[j + 1] = name
    }
    for (i = 1; i <= n && i <= 8; i++) text = text (i > 1 ? ", " : "") names[i] " " typeUses[arrow, names[i]]
    return text (n > 8 ? " and " n - 8 " more" : "")
}

# A box for each folder from top to bottom. To the right go the arrows down, without those that others amount to; to the left those
# against the order.
function picture(    i, j, middle) {
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 " 48 * count + 12 "\" font-family=\"sans-serif\">"
    tip("with", "#7b8794")
    tip("against", "#c0392b")
    print "<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#fff\"/>"
    for (i = 1; i <= count; i++) {
        middle = 48 * i - 18
        print "<rect x=\"120\" y=\"" middle - 18 "\" width=\"480\" height=\"36\" rx=\"6\" fill=\"#f2f6fc\" stroke=\"#8a94a6\"/>"
        print "<text x=\"132\" y=\"" middle + 5 "\" font-size=\"14\" fill=\"#1d1d1f\"><tspan font-weight=\"bold\">" folders[i] \
            "</tspan> <tspan fill=\"#555\" font-size=\"13\">" purpose[i] "</tspan></text>"
    }
    for (i = 1; i <= count; i++) {
        for (j = 1; j <= count; j++) {
            if (i < j && goesDown(i, j) && !goesRound(i, j)) curve(600, 606 + 14 * (j - i), 48 * i - 14, 48 * j - 22, "with", "#7b8794")
            if (i > j && uses[folders[i], folders[j]])
                curve(120, 114 - 12 * (i - j), 48 * i - 22, 48 * j - 18 + (i - j), "against", "#c0392b")
        }
    }
    print "</svg>"
}

function goesDown(i, j) {
    return uses[folders[i], folders[j]] > 0
}

# Whether arrows down lead from one folder to the other over folders between them.
function goesRound(i, j,    k) {
    for (k = i + 1; k < j; k++) if (goesDown(i, k) && (goesDown(k, j) || goesRound(k, j))) return 1
    return 0
}

function tip(name, colour) {
    print "<marker id=\"" name "\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">" \
        "<path d=\"M0 0 8 4 0 8z\" fill=\"" colour "\"/></marker>"
}

function curve(edge, reach, from, to, tipName, colour) {
    print "<path d=\"M" edge " " from "C" reach " " from " " reach " " to " " edge " " to "\" fill=\"none\" stroke=\"" colour \
        "\" marker-end=\"url(#" tipName ")\"/>"
}
