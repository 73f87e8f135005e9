"""simhash: its index is queried for each document, which is added if nothing similar is there.

The page that its package names as its home, leons.im/posts/a-python-implementation-of-simhash-algorithm: the features
are runs of 3 characters of the text in lower case with only letters and digits, and `SimhashIndex` has `k=3`.
"""

import logging
import re
import sys

from features import read_documents, write_dropped
from simhash import Simhash, SimhashIndex


def features(text):
    text = re.sub(r"[^\w]+", "", text.lower())
    return [text[place : place + 3] for place in range(max(len(text) - 2, 1))]


documents, answer, _, _ = sys.argv[1:]
# It warns of large buckets, thousands of times.
logging.getLogger("simhash").setLevel(logging.ERROR)
index = SimhashIndex([], k=3)
dropped = []
for id, text in read_documents(documents):
    print_of_text = Simhash(features(text))
    if index.get_near_dups(print_of_text):
        dropped.append(id)
    else:
        index.add(str(id), print_of_text)
write_dropped(answer, dropped)
