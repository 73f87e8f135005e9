"""All pairs of similar documents, without estimates: an exact join by prefix filtering."""

from collections import Counter, defaultdict
from math import ceil


def similar_pairs(sets, similarity):
    """Yields `(i, j, jaccard)` with `i < j` for all pairs of sets that have at least this similarity.

    Two sets can be this similar only if they share one of the rarest features of each, of which a set of n features
    has n - ceil(similarity * n) + 1. Only these are looked up. Empty sets are in no pair.
    """
    frequency = Counter(feature for features in sets for feature in features)
    rarest_first = sorted(frequency, key=lambda feature: (frequency[feature], feature))
    number = {feature: place for place, feature in enumerate(rarest_first)}
    sets = [sorted(number[feature] for feature in features) for features in sets]
    lookup = [frozenset(features) for features in sets]
    order = sorted(range(len(sets)), key=lambda i: (len(sets[i]), i))
    holders = defaultdict(list)
    # A little less than the similarity, so that rounding loses no pair; the last comparison decides.
    floor = similarity - 1e-9
    for j in order:
        features, size = sets[j], len(sets[j])
        prefix = features[: size - ceil(floor * size) + 1] if size else []
        candidates = set()
        for feature in prefix:
            candidates.update(holders[feature])
            holders[feature].append(j)
        for i in candidates:
            if len(sets[i]) < floor * size:
                continue
            both = len(lookup[i] & lookup[j])
            found = both / (len(sets[i]) + size - both)
            if found >= similarity:
                yield min(i, j), max(i, j), found
