"""Reads callgrind's profiles: what `count-calls` and `check-cost` share."""

import collections
import re

# The package's modules as they stand in mangled names.
OURS = re.compile(r"14CurlNetworking|13CurlTransport|19CurlNetworkingLocks")
LOCK = re.compile(r"pthread_mutex_lock")
ALLOCATION = re.compile(r"^(malloc|calloc|realloc)(@|$)")


class Profile:
    """The totals of a callgrind profile, and its calls by caller and callee."""

    def __init__(self, path):
        self.total = 0
        self.calls = collections.Counter()
        names, caller, callee, count = {}, None, None, None

        def name(reference):
            number, text = re.match(r"\((\d+)\)(?: (.*))?", reference).groups()
            if text:
                # Recursion is counted with the function itself.
                names[number] = re.sub(r"'\d+$", "", text)
            return names[number]

        with open(path, errors="replace") as lines:
            for line in lines:
                line = line.rstrip()
                if line.startswith("fn="):
                    caller = name(line[3:])
                elif line.startswith("cfn="):
                    callee = name(line[4:])
                elif line.startswith("calls="):
                    self.calls[caller, callee] += int(line[6:].split()[0])
                elif line.startswith(("summary:", "totals:")) and self.total == 0:
                    self.total = int(line.split()[1])


class Cost:
    """What one request costs: the difference of two profiles of the same program, which removes its start and its warm-up."""

    def __init__(self, fewer, few, more, many):
        self.requests = many - few
        self.instructions = (more.total - fewer.total) // self.requests
        self.calls = {pair: (more.calls[pair] - fewer.calls[pair]) / self.requests for pair in more.calls}

    def called(self, callees, callers=re.compile("")):
        """How often per request functions that match `callees` are called by functions that match `callers`, by caller."""
        counts = collections.Counter()
        for (caller, callee), count in self.calls.items():
            if callees.search(callee) and callers.search(caller):
                counts[caller] += count
        return counts

    @property
    def locks(self):
        """The locks that this package takes, by who takes them."""
        return {caller: count for caller, count in self.called(LOCK, OURS).items() if count > 0.01}

    @property
    def allocations(self):
        """Those of libcurl and Foundation included."""
        return sum(self.called(ALLOCATION).values())
