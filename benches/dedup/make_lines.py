#!/usr/bin/env python3
"""Makes many documents, one on each line, of which a part are near-duplicates: `make_lines.py FILE COUNT`.

Each is put together from two package descriptions in `data/en.jsonl.gz`: the beginning of one and the end of another.
Half of them come with one to three copies, in which up to eight words are replaced, inserted or deleted. The order is
random. The same COUNT gives the same file.
"""

import gzip
import json
import random
import sys
from pathlib import Path

EN = Path(__file__).resolve().parent.parent.parent / "data" / "en.jsonl.gz"


def edited(words, vocabulary, dice):
    """A copy of a list of words with up to eight changes."""
    words = list(words)
    for _ in range(dice.randint(0, 8)):
        place = dice.randrange(len(words))
        change = dice.choice(["replace", "insert", "delete"])
        if change == "replace":
            words[place] = dice.choice(vocabulary)
        elif change == "insert":
            words.insert(place, dice.choice(vocabulary))
        elif len(words) > 1:
            del words[place]
    return words


def documents(count, dice):
    """The documents, as many as asked for."""
    with gzip.open(EN, "rt", encoding="utf-8") as file:
        descriptions = [json.loads(line)["text"].split() for line in file]
    vocabulary = [word for words in descriptions for word in words]
    made = []
    while len(made) < count:
        beginning, end = dice.choice(descriptions), dice.choice(descriptions)
        words = beginning[: dice.randint(20, 80)] + end[-dice.randint(20, 80) :]
        made.append(words)
        if dice.random() < 0.5:
            made.extend(edited(words, vocabulary, dice) for _ in range(dice.randint(1, 3)))
    del made[count:]
    dice.shuffle(made)
    return made


def main():
    output, count = sys.argv[1:]
    with open(output, "w", encoding="utf-8") as file:
        for words in documents(int(count), random.Random(7)):
            file.write(" ".join(words) + "\n")


if __name__ == "__main__":
    main()
