"""gaoya: an index is asked for each document, which is inserted if nothing similar is there.

`notebook`: the parameters of its notebook on deduplication, `deduplication_scholarly_articles_gaoya.ipynb`, to which
the README leads: runs of 3 and 4 characters, 50 bands of 4 hashes, threshold 0.5. Otherwise: runs of three words,
threshold 0.8, and the 42 bands of 3 hashes of the README.
"""

import json
import sys

import gaoya
from features import read_documents, triples, write_dropped

documents, answer, _, options = sys.argv[1:]
if json.loads(options)["notebook"]:
    settings = {"jaccard_threshold": 0.5, "num_bands": 50, "band_size": 4, "analyzer": "char", "ngram_range": (3, 4)}
else:
    settings = {"jaccard_threshold": 0.8, "num_bands": 42, "band_size": 3, "analyzer": lambda text: list(triples(text))}
index = gaoya.minhash.MinHashStringIndex(hash_size=32, **settings)
dropped = []
for place, (id, text) in enumerate(read_documents(documents)):
    if index.query(text):
        dropped.append(id)
    else:
        index.insert_document(place, text)
write_dropped(answer, dropped)
