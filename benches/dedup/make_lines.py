#!/usr/bin/env python3
"""Makes many documents, one on each line, of which a part are near-duplicates.

    make_lines.py FILE COUNT [--kind KIND] [--source SOURCE] [--seed SEED]

| KIND | from |
|---|---|
| `en` | the package descriptions in `data/en.jsonl.gz`, or in such a file as SOURCE; this is the default |
| `zh` | those in `data/zh.jsonl.gz` |
| `mixed` | both |
| `ja` | package descriptions in Japanese: SOURCE is `dists/bookworm/main/i18n/Translation-ja.bz2` of a mirror of Debian |
| `th` | Thai words: SOURCE is `th_TH.dic` of Debian's package `hunspell-th` |
| `code` | the functions of Python's own library |

Each document is put together from two sources: the beginning of one and the end of another. Half of them come with one to
three copies, in which up to eight words, or characters where there are no spaces between words, are replaced, inserted
or deleted. The order is random. The same arguments give the same file.
"""

import argparse
import ast
import bz2
import gzip
import json
import random
import re
import sysconfig
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent.parent / "data"


def descriptions(name, source=None):
    """The texts of a collection of the repository, or of another one of its form."""
    with gzip.open(source or DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file]


def translations(source):
    """The descriptions in a list of translations by Debian."""
    with bz2.open(source, "rt", encoding="utf-8") as file:
        found = re.findall(r"^Description-\w+: (.*\n(?: .*\n)*)", file.read(), re.MULTILINE)
    return [re.sub(r"^ \.?", "", text, flags=re.MULTILINE) for text in found]


def phrases(source, dice):
    """Texts of random words of a dictionary of hunspell, with a space after some of them."""
    with open(source, encoding="utf-8") as file:
        words = [line.split("/")[0].strip() for line in file][1:]
    return ["".join(dice.choice(words) + " " * (dice.random() < 0.1) for _ in range(60)) for _ in range(4000)]


def functions():
    """The source of functions of Python's library."""
    found = []
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        parts = ast.walk(ast.parse(text))
        found += [ast.get_source_segment(text, part) for part in parts if isinstance(part, ast.FunctionDef)]
    return found


def sources(kind, source, dice):
    """The lists of words, or of characters, that documents are made from, and what joins them."""
    texts = {
        "en": lambda: descriptions("en", source),
        "zh": lambda: descriptions("zh"),
        "mixed": lambda: descriptions("en") + descriptions("zh"),
        "ja": lambda: translations(source),
        "th": lambda: phrases(source, dice),
        "code": functions,
    }[kind]()
    if kind in ("zh", "ja", "th"):
        return [list(" ".join(text.split())) for text in texts], ""
    return [text.split() for text in texts], " "


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


def documents(count, dice, texts=None):
    """The documents as lists of words, as many as asked for; from English descriptions if no other texts are given."""
    texts = texts or sources("en", None, dice)[0]
    vocabulary = [word for words in texts for word in words]
    made = []
    while len(made) < count:
        beginning, end = dice.choice(texts), dice.choice(texts)
        words = beginning[: dice.randint(20, 80)] + end[-dice.randint(20, 80) :]
        made.append(words)
        if dice.random() < 0.5:
            made.extend(edited(words, vocabulary, dice) for _ in range(dice.randint(1, 3)))
    del made[count:]
    dice.shuffle(made)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("count", type=int)
    parser.add_argument("--kind", choices=["en", "zh", "mixed", "ja", "th", "code"], default="en")
    parser.add_argument("--source", type=Path, help="where ja and th are from, and en may be")
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    if arguments.kind in ("ja", "th") and arguments.source is None:
        parser.error(f"--kind {arguments.kind} needs a --source")
    if arguments.kind in ("zh", "mixed", "code") and arguments.source is not None:
        parser.error(f"--kind {arguments.kind} has no --source")
    dice = random.Random(arguments.seed)
    texts, between = sources(arguments.kind, arguments.source, dice)
    with open(arguments.file, "w", encoding="utf-8") as file:
        for words in documents(arguments.count, dice, texts):
            file.write(between.join(words) + "\n")


if __name__ == "__main__":
    main()
