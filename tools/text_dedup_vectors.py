"""Fingerprints of text-dedup's simhash, which the preset `compat-text-dedup` is tested with.

Run it where text-dedup 0.4.1 (commit 7538f3e, Python 3.12) can be imported:

    python tools/text_dedup_vectors.py >crates/simidx-text/tests/text/text_dedup.jsonl

Each line has a text, what differs from text-dedup's defaults, and the fingerprint in hexadecimal.
"""

import json
import random

from text_dedup.config.algorithms.simhash import SimHashAlgorithmConfig

TEXTS = [
    "",
    "...!?",
    "one two three four",
    "one two three four five",
    "One TWO three, four: five; six",
    "the same the same the same the same the same",
    "The quick brown fox jumps over the lazy dog, and the dog doesn't mind.",
    "snake_case __dunder__ x_1 3.14 1,000,000 a-b",
    "Straße STRASSE ẞ ΟΔΟΣ Σίσυφος ΑΣ. İstanbul ǅ Ⅷ ⅷ",
    "cafe\u0301 naïve résumé Ⓐ ① ² ½ ೧೨೩ क्षि ไทยดี",
    "我爱北京天安门，天安门上太阳升。 一二三 四五 六",
    "カタカナ ひらがな ｶﾀｶﾅ １２３ ＡＢＣ 한국어 문장 입니다",
    "tab\tnewline\nreturn\rvertical\vform\fnbsp\u00a0ideographic\u3000separator\u2028end\u200bzero\u00adsoft",
    "emoji 👍🏽 👨‍👩‍👧 flags 🇩🇪 𝒜𝓁𝓁 𐐀𐐨 𠀀𠀁",
    "0 1 2 3 4 5 6 7 8 9 _ __ ___",
]

SETTINGS = [
    {},
    {"ngram_size": 1, "min_length": 0},
    {"ngram_size": 5, "seed": 7},
    {"ngram_size": 8, "min_length": 1, "f": 128},
    {"ngram_size": 2, "min_length": 3, "f": 32, "num_bucket": 4},
]


def made(rng: random.Random) -> str:
    """Some words, of which some come twice, between any separators."""
    words = ["".join(rng.choices("abcdeÉßΣσ中文_09", k=rng.randint(1, 9))) for _ in range(rng.randint(1, 30))]
    return "".join(word + rng.choice([" ", ", ", "\n", "—", "'"]) for word in rng.choices(words, k=rng.randint(1, 40)))


def main() -> None:
    """Print a line for each text and setting."""
    rng = random.Random(42)
    texts = TEXTS + [made(rng) for _ in range(8)]
    for setting in SETTINGS:
        embed = SimHashAlgorithmConfig(text_column="text", **setting).get_embed_func()
        for number, text in enumerate(texts):
            value = embed([text], [number])["__val__"][0].hex()
            print(json.dumps({"text": text, **setting, "fingerprint": value}))


if __name__ == "__main__":
    main()
