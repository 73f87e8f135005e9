"""The score of a tool that drops documents: precision, recall and losses, against two kinds of truth."""

from collections import Counter


class Truth:
    """The documents of a collection, by their places from 0, and its similar pairs.

    `before[j]` are the earlier documents that are similar to `j`, `near[j]` all of them, `component[j]` is the first
    document of the connected component of `j`.
    """

    def __init__(self, count, pairs):
        self.count = count
        self.before = {}
        self.near = {}
        parent = list(range(count))

        def root(node):
            while parent[node] != node:
                parent[node] = parent[parent[node]]
                node = parent[node]
            return node

        for a, b in pairs:
            a, b = min(a, b), max(a, b)
            if not 0 <= a < b < count:
                raise ValueError(f"no pair of {count} documents: {a} and {b}")
            self.before.setdefault(b, []).append(a)
            self.near.setdefault(a, []).append(b)
            self.near.setdefault(b, []).append(a)
            first, second = sorted((root(a), root(b)))
            parent[second] = first
        self.component = [root(node) for node in range(count)]

    def first_kept(self):
        """The documents to drop if the first ones are kept: each that is similar to an earlier kept one."""
        dropped = set()
        for document in range(self.count):
            if any(earlier not in dropped for earlier in self.before.get(document, ())):
                dropped.add(document)
        return dropped

    def excess(self):
        """How many documents of each connected component are to be dropped: all but one."""
        return {first: size - 1 for first, size in Counter(self.component).items() if size > 1}


def ratios(right, said, wanted):
    """Precision, recall and F1; nothing said or nothing wanted counts as all right."""
    precision = right / said if said else 1.0
    recall = right / wanted if wanted else 1.0
    both = precision + recall
    f1 = 2 * precision * recall / both if both else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def score(truth, dropped):
    """Scores the set of places of the documents that a tool drops.

    `first`: against the documents that go if the first ones are kept. `components`: against all but one document of
    each connected component, whichever that one is. `lost`: dropped documents without a similar one among those kept.
    """
    wanted = truth.first_kept()
    first = ratios(len(dropped & wanted), len(dropped), len(wanted))
    excess = truth.excess()
    by_component = Counter(truth.component[document] for document in dropped)
    right = sum(min(count, excess.get(component, 0)) for component, count in by_component.items())
    components = ratios(right, len(dropped), sum(excess.values()))
    lost = sum(all(other in dropped for other in truth.near.get(document, ())) for document in dropped)
    return {"dropped": len(dropped), "lost": lost, "first": first, "components": components}
