"""FastSketchLSH: sketches in one batch, then the candidates of each document; it goes if an earlier one is kept.

README of FastSketchLSH 1.0.1, "Deduplication with LSH": 128 values, 16 bands, the set of the words between spaces in
lower case. Its `insert_and_query_duplicates` flags all documents of a group, so it does not say which to keep;
`query` gives the groups. With `triples`, runs of three words instead of these words.
"""

import json
import sys

from FastSketchLSH import LSH, FastSimilaritySketch
from features import read_documents, triples, write_dropped

documents, answer, _, options = sys.argv[1:]
ids, sets = [], []
for id, text in read_documents(documents):
    ids.append(id)
    sets.append(sorted(triples(text) if json.loads(options)["triples"] else set(text.lower().split())))
sketches = FastSimilaritySketch(size=128, seed=42).batch(sets, num_threads=1)
lsh = LSH(num_perm=128, num_bands=16, num_threads=1)
flags = lsh.insert_and_query_duplicates(sketches)
kept, dropped = set(), []
for place, id in enumerate(ids):
    if flags[place] and any(other in kept for other in lsh.query(sketches[place])):
        dropped.append(id)
    else:
        kept.add(place)
write_dropped(answer, dropped)
