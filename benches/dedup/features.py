"""Documents as the sets of their runs of three words, by which the lists of similar pairs in `data/` were made."""

import json
import re
import unicodedata

# A character of a script that is written without spaces is a word: Han, kana, Thai. So is a run of other letters and digits.
UNSPACED = r"\u0e01-\u0e3a\u0e40-\u0e46\u0e4d\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u9fff"
WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")


def words(text):
    """The words of a text, after NFKC in lower case."""
    return WORD.findall(unicodedata.normalize("NFKC", text).lower())


def triples(text):
    """The set of runs of three words; of a text with fewer words, the run of all of them."""
    found = words(text)
    if len(found) < 3:
        return {" ".join(found)} if found else set()
    return {" ".join(run) for run in zip(found, found[1:], found[2:])}


def jaccard(a, b):
    """The share of what either set has that both have."""
    both = len(a & b)
    return both / (len(a) + len(b) - both) if both else 0.0


def read_documents(path):
    """Yields id and text of each document of a file of JSON lines."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            yield record["id"], record["text"]


def write_dropped(path, ids):
    """Writes the answer of an adapter: a JSON list of the ids of the documents that it drops."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(list(ids), file)
