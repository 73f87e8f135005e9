"""datasketch: a MinHashLSH is asked for each document, which is inserted if nothing similar is there.

The page "MinHash LSH" of its documentation (docs/lsh.rst): `MinHashLSH(threshold=…, num_perm=128)`. It says that the
answers have false positives. With `check`, the sets of features of the candidates are compared. `MinHashLSH` then
gets the `weights` that its description gives for those to whom false negatives matter more, since the check removes
the others.
"""

import json
import sys

from datasketch import MinHash, MinHashLSH
from features import jaccard, read_documents, triples, write_dropped

documents, answer, _, options = sys.argv[1:]
check = json.loads(options)["check"]
lsh = MinHashLSH(threshold=0.8, num_perm=128, weights=(0.4, 0.6) if check else (0.5, 0.5))
kept, dropped = {}, []
for id, text in read_documents(documents):
    features = triples(text)
    sketch = MinHash(num_perm=128)
    sketch.update_batch([feature.encode("utf-8") for feature in features])
    candidates = lsh.query(sketch)
    if check:
        candidates = any(jaccard(features, kept[other]) >= 0.8 for other in candidates)
    if candidates:
        dropped.append(id)
    else:
        lsh.insert(id, sketch)
        if check:
            kept[id] = features
write_dropped(answer, dropped)
