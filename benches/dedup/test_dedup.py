"""Tests of the scoring, the exact join and the runs of the comparison: `python3 -m unittest discover benches/dedup`."""

import gzip
import json
import random
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import make_lines  # noqa: E402
import run  # noqa: E402
from features import jaccard, triples, words  # noqa: E402
from join import similar_pairs  # noqa: E402
from score import Truth, score  # noqa: E402

DATA = HERE.parent.parent / "data"


class Features(unittest.TestCase):
    def test_words(self):
        found = words("The ＡＢＣ of snake_case: 中文 1.5")
        self.assertEqual(found, ["the", "abc", "of", "snake", "case", "中", "文", "1", "5"])

    def test_triples(self):
        self.assertEqual(triples("a b c d"), {"a b c", "b c d"})
        self.assertEqual(triples("a b"), {"a b"})
        self.assertEqual(triples("!"), set())


class Join(unittest.TestCase):
    def test_it_finds_what_comparing_all_finds(self):
        random.seed(1)
        for _ in range(20):
            sets = [set(random.sample(range(30), random.randint(0, 12))) for _ in range(60)]
            sets += [set(features) ^ {random.randrange(30)} for features in sets]
            for similarity in (0.5, 0.8, 1.0):
                plain = {
                    (i, j)
                    for j, b in enumerate(sets)
                    for i, a in enumerate(sets[:j])
                    if jaccard(a, b) >= similarity
                }
                self.assertEqual({(i, j) for i, j, _ in similar_pairs(sets, similarity)}, plain)

    def test_it_finds_the_pairs_of_the_data(self):
        for name in ("en", "zh"):
            with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
                records = [json.loads(line) for line in file]
            ids = [record["id"] for record in records]
            found = similar_pairs([triples(record["text"]) for record in records], 0.8)
            found = {frozenset((ids[i], ids[j])) for i, j, _ in found}
            with gzip.open(DATA / f"{name}.j80.tsv.gz", "rt", encoding="utf-8") as file:
                listed = {frozenset(line.split("\t")[:2]) for line in file.read().splitlines()[1:]}
            self.assertEqual(found, listed)


class Made(unittest.TestCase):
    def test_the_same_number_makes_the_same_documents_and_some_are_similar(self):
        made = make_lines.documents(300, random.Random(7))
        self.assertEqual(len(made), 300)
        self.assertEqual(made, make_lines.documents(300, random.Random(7)))
        self.assertTrue(all(made))
        similar = list(similar_pairs([triples(" ".join(document)) for document in made], 0.8))
        self.assertGreater(len(similar), 20)
        self.assertLess(len(similar), 300)


class Scoring(unittest.TestCase):
    # 0 - 1 - 2 is a chain, 3 - 4 a pair, 5 is alone.
    truth = Truth(6, [(0, 1), (2, 1), (3, 4)])

    def test_the_first_documents_are_kept(self):
        # 2 is similar to 1 only, which goes.
        self.assertEqual(self.truth.first_kept(), {1, 4})

    def test_the_greedy_answer_is_right_by_the_greedy_truth(self):
        found = score(self.truth, {1, 4})
        self.assertEqual(found["first"], {"precision": 1, "recall": 1, "f1": 1})
        self.assertEqual(found["components"]["precision"], 1)
        self.assertAlmostEqual(found["components"]["recall"], 2 / 3)
        self.assertEqual(found["lost"], 0)

    def test_chains_are_right_by_components_and_lose_a_document(self):
        found = score(self.truth, {1, 2, 4})
        self.assertEqual(found["components"], {"precision": 1, "recall": 1, "f1": 1})
        self.assertAlmostEqual(found["first"]["precision"], 2 / 3)
        # 2 was similar to 1 alone.
        self.assertEqual(found["lost"], 1)

    def test_any_document_of_a_component_may_be_kept(self):
        self.assertEqual(score(self.truth, {0, 2, 3})["components"], {"precision": 1, "recall": 1, "f1": 1})
        self.assertEqual(score(self.truth, {0, 2, 3})["lost"], 0)

    def test_a_component_that_goes_whole_is_lost(self):
        found = score(self.truth, {3, 4, 5})
        self.assertEqual(found["lost"], 3)
        self.assertAlmostEqual(found["components"]["precision"], 1 / 3)
        self.assertAlmostEqual(found["components"]["recall"], 1 / 3)

    def test_nothing_dropped(self):
        found = score(self.truth, set())
        self.assertEqual((found["first"]["precision"], found["first"]["recall"], found["lost"]), (1, 0, 0))

    def test_a_pair_outside_of_the_documents_is_refused(self):
        for pair in [(0, 6), (1, 1), (-1, 2)]:
            with self.assertRaises(ValueError):
                Truth(6, [pair])


class Running(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def measure(self, program, seconds=60):
        return run.measure([sys.executable, "-c", program], {}, self.folder, seconds)

    def test_the_memory_of_children_counts(self):
        large = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = b\"x\" * (200 << 20)'])"
        found = self.measure(large)
        self.assertIsNone(found["error"])
        self.assertGreater(found["memory"], 200 << 20)
        self.assertGreater(found["cpu"], 0)

    def test_the_memory_of_the_comparison_itself_does_not_count(self):
        held = b"x" * (200 << 20)
        self.assertLess(self.measure("pass")["memory"], len(held) / 2)

    def test_a_program_that_fails_is_an_error_with_its_last_words(self):
        found = self.measure("raise SystemExit('no such option')")
        self.assertIn("no such option", found["error"])

    def test_a_program_that_takes_too_long_is_ended(self):
        self.assertIn("longer than", self.measure("import time; time.sleep(60)", 0.5)["error"])

    def test_an_answer_that_is_no_list_of_ids_is_refused(self):
        place = {"a": 0, "b": 1}
        answer = self.folder / "answer.json"
        answer.write_text('["b"]')
        self.assertEqual(run.read_answer(answer, place), {1})
        for wrong in ('["c"]', '["a", "a"]', '{"a": 1}', "["):
            answer.write_text(wrong)
            with self.assertRaises(ValueError):
                run.read_answer(answer, place)
        answer.unlink()
        with self.assertRaises(ValueError):
            run.read_answer(answer, place)

    def test_each_contender_has_an_adapter_and_pinned_requirements(self):
        environments = run.read_requirements(HERE / "requirements.txt")
        for lines in environments.values():
            for line in lines:
                self.assertRegex(line, r"^[\w\[\],.-]+==\S+$")
        for contender in run.CONTENDERS:
            self.assertTrue((HERE / "adapters" / f"{contender.adapter}.py").is_file(), contender.adapter)
            self.assertIn(contender.environment, [None, *environments])
            self.assertIn(contender.keeps, ("first", "components"))
        names = [contender.name for contender in run.CONTENDERS]
        self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
