#!/usr/bin/env python3
"""Writes the tables of the text pipelines in JavaScript: src/unicode.js and src/entities.js of packages/js.

js_tables.py

Properties and Word_Break come from the crate unicode-segmentation, decompositions from unicode-normalization, which are
looked for among the sources that cargo has fetched. Case mappings come from node, whose version of Unicode must be that
of the table `case` of the pipeline specification. Normalisation and case mappings are those of the engine, but for what
came after the version of Unicode of this Python: that is in the tables. The names of character references are those of
the standard library of Python.
"""
import glob
import html.entities
import json
import os
import re
import subprocess
import sys
import textwrap
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
CARGO = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
CASE_VERSION = "17.0"
LAST = 0x110000
CLASSES = ["Other", "CR", "LF", "Newline", "Extend", "ZWJ", "Format", "Katakana", "Hebrew_Letter", "ALetter",
           "Single_Quote", "Double_Quote", "MidNumLet", "MidLetter", "MidNum", "Numeric", "ExtendNumLet",
           "Regional_Indicator", "WSegSpace"]
LETTER_OR_NUMBER = 32
PICTOGRAPHIC = 64


def tables_of(crate):
    """The text of the tables of a crate in the sources of cargo."""
    found = sorted(glob.glob(f"{CARGO}/registry/src/*/{crate}*/src/tables.rs"))
    if not found:
        sys.exit(f"no {crate} among the sources of cargo")
    return open(found[-1], encoding="utf-8").read()


def constant(text, name):
    """Returns the text between the brackets of a constant."""
    return re.search(rf"const {name}: [^=]*= &\[(.*?)\];", text, re.S)[1]


def ranges(text, name):
    """The ranges of a table, with what follows them."""
    entry = r"\('\\u\{(\w+)\}',\s*'\\u\{(\w+)\}'(?:,\s*\w\w_(\w+))?\)"
    return [(int(first, 16), int(last, 16), value) for first, last, value in re.findall(entry, constant(text, name))]


def scripts():
    """The characters of the runs of section 6.1 of the specification that are not plain."""
    text = open(os.path.join(HERE, "..", "book", "spec", "pipeline-spec.md"), encoding="utf-8").read()
    blocks = [re.search(f"<!-- {name} -->\n```\n(.*?)```", text, re.S)[1] for name in ["cjk", "south-east-asian"]]
    for first, last in re.findall(r"U\+(\w+)\.\.U\+(\w+)", "".join(blocks)):
        yield from range(int(first, 16), int(last, 16) + 1)


def properties():
    """For each character its Word_Break, with bits for letters or numbers and for pictographs; None where any will do,
    because no plain run has the character."""
    text = tables_of("unicode-segmentation-1.13")
    values = [0] * LAST
    for first, last, name in ranges(text, "word_cat_table"):
        for c in range(first, last + 1):
            values[c] |= CLASSES.index(name)
    for table, bit in [("Alphabetic_table", LETTER_OR_NUMBER), ("N_table", LETTER_OR_NUMBER)]:
        for first, last, _ in ranges(text, table):
            for c in range(first, last + 1):
                values[c] |= bit
    for first, last, name in ranges(text, "emoji_cat_table"):
        for c in range(first, last + 1):
            values[c] |= PICTOGRAPHIC
    for c in scripts():
        values[c] = None
    return values


def runs(values):
    """The runs of equal values: the value as a letter, and the length less 1 in base 36."""
    found, at = "", 0
    while at < LAST:
        start = at
        while at < LAST and values[at] in (None, values[start]):
            at += 1
        found += chr(ord("A") + kinds.setdefault(values[start], len(kinds))) + digits(at - start - 1)
    if len(kinds) > 26:
        sys.exit("more values than letters")
    return found


kinds = {}


def decompositions():
    """The compatibility decompositions and combining characters that this Python does not know."""
    text = tables_of("unicode-normalization-0.1")
    compatible = {}
    for name in ["CANONICAL", "COMPATIBILITY"]:
        pool = [chr(int(c, 16)) for c in re.findall(r"\\u\{(\w+)\}", constant(text, f"{name}_DECOMPOSED_CHARS"))]
        for c, at, count in re.findall(r"\((0x\w+), \((0x\w+), (0x\w+)\)\)", constant(text, f"{name}_DECOMPOSED_KV")):
            compatible[int(c, 16)] = "".join(pool[int(at, 16):int(at, 16) + int(count, 16)])
    marks = {int(kv, 16) >> 8: int(kv, 16) & 255
             for kv in re.findall(r"0x\w+", constant(text, "CANONICAL_COMBINING_CLASS_KV"))}
    composed = {ord(c) for pair in re.findall(r"\('(.*?)', '(.*?)'\) => Some\('(.*?)'\)", text)
                for part in pair for c in [chr(int(part[3:-1], 16))]}
    mapped, other = {}, set()
    for c in sorted(set(compatible) | set(marks) | composed):
        if 0xD800 <= c < 0xE000:
            continue
        if unicodedata.category(chr(c)) != "Cn":
            known = unicodedata.normalize("NFKD", chr(c))
            if known != compatible.get(c, chr(c)) or unicodedata.combining(chr(c)) != marks.get(c, 0):
                if known != unicodedata.normalize("NFKD", compatible.get(c, chr(c))):
                    sys.exit(f"U+{c:04X} changed")
        elif c in marks or c in composed:
            other.add(c)
        else:
            mapped[chr(c)] = compatible[c]
    return mapped, other


def case_mappings():
    """The lower-case and upper-case mappings that this Python does not know, as pairs of strings."""
    script = """
        const found = [];
        for (let c = 0; c < 0x110000; c++) {
            if (c < 0xd800 || c > 0xdfff) {
                const s = String.fromCodePoint(c);
                found.push([s.toLowerCase(), s.toUpperCase()]);
            } else {
                found.push(null);
            }
        }
        process.stdout.write(JSON.stringify([process.versions.unicode, found]));
    """
    version, mappings = json.loads(subprocess.run(["node", "-e", script], check=True, capture_output=True).stdout)
    if version != CASE_VERSION:
        sys.exit(f"node has Unicode {version}, not {CASE_VERSION}")
    lower, upper = {}, {}
    for c, pair in enumerate(mappings):
        if pair is not None:
            if chr(c).lower() != pair[0]:
                lower[chr(c)] = pair[0]
            if chr(c).upper() != pair[1]:
                upper[chr(c)] = pair[1]
    return lower, upper


def escaped(character):
    """A character in a string of JavaScript."""
    if character in "\"\\":
        return "\\" + character
    return character if " " <= character <= "~" else f"\\u{{{ord(character):x}}}"


def literal(text):
    """A string of JavaScript."""
    return '"' + "".join(map(escaped, text)) + '"'


def write(name, comment, constants):
    with open(os.path.join(HERE, "..", "packages", "js", "src", name), "w", encoding="ascii") as file:
        file.write(f"// Generated by tools/js_tables.py. {comment}\n")
        for constant_name, doc, value in constants:
            lines = "\n".join(textwrap.wrap(doc, 112, initial_indent="// ", subsequent_indent="// "))
            file.write(f"\n{lines}\nexport const {constant_name} = {value};\n")


def digits(number):
    """A number in base 36, without digits if it is 0."""
    return digits(number // 36) + "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36] if number else ""


def pairs(mapping):
    """A mapping as runs: how many characters are skipped, how many more the run has, and what its first becomes, whose
    last character grows; nothing if the mapping has an empty string."""
    runs = []
    for key, value in sorted(mapping.items()):
        if runs:
            first, count, text = runs[-1]
            grown = text and text[:-1] + chr(ord(text[-1]) + count + 1)
            if ord(first) + count + 1 == ord(key) and grown == value:
                runs[-1][1] += 1
                continue
        runs.append([key, 0, value])
    parts, end = [], 0
    for key, count, text in runs:
        parts.append(",".join(map(digits, [ord(key) - end, count, *map(ord, text)])))
        end = ord(key) + count + 1
    return literal(" ".join(parts))


def main():
    table = runs(properties())
    order = " ".join(str(value) for value in kinds)
    mapped, other = decompositions()
    lower, upper = case_mappings()
    if upper != {to: c for c, to in lower.items()}:
        sys.exit("the upper case of a new character is no inverse of its lower case")
    base = unicodedata.unidata_version
    write("unicode.js", "Versions of Unicode: section 11 of the pipeline specification.", [
        ("KINDS", "The values of RUNS: Word_Break, plus 32 for letters and numbers, plus 64 for pictographs.",
         literal(order)),
        ("RUNS", "Runs of characters: the value as a letter, and the length less 1 in base 36.",
         literal(table)),
        ("DECOMPOSED",
         f"Characters after Unicode {base} with compatibility decompositions, in runs separated by spaces: how many"
         " characters are skipped, how many more the run has, and the characters that its first becomes, the last of"
         " which grows by one; none if the run is of characters that combine or are composed."
         " Numbers are in base 36, nothing is 0.", pairs({**mapped, **{chr(c): "" for c in other}})),
        ("LOWER", f"Characters after Unicode {base} and their lower case, in runs like DECOMPOSED.", pairs(lower)),
    ])
    names = sorted(html.entities.html5.items())
    write("entities.js", "The character references of HTML.", [
        ("ENTITIES", "Names, each followed by its characters, separated by spaces.",
         literal(" ".join(f"{name} {text}" for name, text in names))),
    ])
    print(f"{len(table)} bytes of runs, {len(mapped)} decompositions, {len(other)} combining,"
          f" {len(lower)} lower, {len(upper)} upper")


main()
