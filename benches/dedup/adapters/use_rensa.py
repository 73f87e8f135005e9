"""rensa: its deduplicator, or its LSH index and a comparison of the candidates.

README of rensa 0.5.0, "Keep unique documents": `RMinHashDeduplicator(threshold=0.8, num_perm=128, use_lsh=True)` and
`add_pairs` of ids and `text.split()`. With `triples`, runs of three words instead of these words. With `check`,
`RMinHashLSH` finds candidates by 16 bands, and the sets of features are compared.
"""

import json
import sys

from features import jaccard, read_documents, triples, write_dropped
from rensa import RMinHash, RMinHashDeduplicator, RMinHashLSH

documents, answer, _, options = sys.argv[1:]
options = json.loads(options)
features_of = (lambda text: list(triples(text))) if options["triples"] else str.split
dropped = []
if options["check"]:
    lsh = RMinHashLSH(threshold=0.8, num_perm=128, num_bands=16)
    kept = {}
    for place, (id, text) in enumerate(read_documents(documents)):
        features = features_of(text)
        sketch = RMinHash(num_perm=128, seed=42)
        sketch.update(features)
        features = set(features)
        if any(jaccard(features, kept[other]) >= 0.8 for other in lsh.query(sketch)):
            dropped.append(id)
        else:
            lsh.insert(place, sketch)
            kept[place] = features
else:
    deduplicator = RMinHashDeduplicator(threshold=0.8, num_perm=128, use_lsh=True)
    ids = []

    def pairs():
        for id, text in read_documents(documents):
            ids.append(id)
            yield id, features_of(text)

    is_kept = deduplicator.add_pairs(pairs())
    dropped = [id for id, keep in zip(ids, is_kept, strict=True) if not keep]
write_dropped(answer, dropped)
