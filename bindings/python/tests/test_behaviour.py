"""How the package behaves: signals, threads, files that change or break, pickles."""

from __future__ import annotations

import concurrent.futures
import contextlib
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import simidx
from conftest import as_array, sample

ARRAY = as_array(sample(64, 2000, 40), 64)


def run_python(code: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Runs code in an interpreter of its own."""
    return subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=300, check=False)


def test_the_import_is_light() -> None:
    code = "import sys, simidx; print(*(m for m in ('numpy', 'pyarrow', 'polars', 'pandas') if m in sys.modules))"
    assert run_python(code).stdout.strip() == ""
    code = "import sys, simidx; simidx.dedup([1, 2]); print('pyarrow' in sys.modules, 'pandas' in sys.modules)"
    assert run_python(code).stdout.strip() == "False False"


LONG = """
import signal, sys, threading, time
import numpy as np
import simidx

# A shell lets what runs in the background ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
folder = sys.argv[1]
rng = np.random.default_rng(1)
array = rng.integers(0, 2**64, 3_000_000, dtype=np.uint64)
texts = [" ".join(map(str, rng.integers(0, 500, 200))) for _ in range(4000)] * 20
names = [str(i) for i in range(len(array))]
index = simidx.build(folder + "/small.simidx", array[:200_000])
calls = {
    "pairs": lambda: simidx.pairs(array, 9),
    "clusters": lambda: simidx.clusters(array, 9),
    "dedup": lambda: simidx.dedup(array, 9, memory="200MB"),
    "rows": lambda: simidx.pairs(array, 9, rows=True),
    "query": lambda: index.query(array, 12),
    "nearest": lambda: index.nearest(array, 5),
    "join": lambda: index.join(array, 12),
    "build": lambda: simidx.build(folder + "/big.simidx", array, names, tables=20),
    "texts": lambda: simidx.pairs_texts(texts, 0.3),
    "fingerprints": lambda: simidx.Pipeline().fingerprints(texts),
}
sent = 0.0
def interrupt():
    global sent
    sent = time.monotonic()
    signal.raise_signal(signal.SIGINT)
call = calls[sys.argv[2]]
timer = threading.Timer(float(sys.argv[3]), interrupt)
try:
    timer.start()
    call()
    print("finished")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - sent)
timer.join()
if len(sys.argv) > 4:
    used = -1.0
    while time.process_time() - used > 0.02:
        used = time.process_time()
        time.sleep(0.3)
    print("quiet")
"""


@pytest.mark.parametrize("call", ["pairs", "dedup", "query", "nearest", "join", "build", "texts", "fingerprints"])
def test_an_interrupt_ends_a_long_call(tmp_path: Path, call: str) -> None:
    found = run_python(LONG, str(tmp_path), call, "0.2")
    assert found.stdout.startswith("interrupted"), (found.stdout, found.stderr)
    assert not (tmp_path / "big.simidx").exists()


@pytest.mark.parametrize("call", ["pairs", "rows", "clusters", "dedup", "join"])
def test_what_is_interrupted_ends(tmp_path: Path, call: str) -> None:
    found = run_python(LONG, str(tmp_path), call, "0.5", "wait")
    assert found.stdout.startswith("interrupted"), (found.stdout, found.stderr)
    assert found.stdout.endswith("quiet\n")


@pytest.mark.skipif(sys.platform == "win32", reason="mprotect is of Unix")
def test_nothing_is_read_after_a_call_that_is_broken_off(tmp_path: Path) -> None:
    # Memory that may not be read any more: a read of it ends the process.
    code = """
import signal, sys, threading, time
import numpy as np
import simidx

signal.signal(signal.SIGINT, signal.default_int_handler)
folder = sys.argv[1]
array = np.random.default_rng(1).integers(0, 2**64, 200_000, dtype=np.uint64)
index = simidx.build(folder + "/small.simidx", array[:20_000])
import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
for call in (simidx.pairs, simidx.clusters, simidx.dedup, lambda *a: simidx.pairs(*a, rows=True), index.query,
             index.join, lambda a, k: index.nearest(a, 5), index.contains,
             lambda a, k: simidx.build(folder + "/b.simidx", a, a)):
    memory = mmap.mmap(-1, array.nbytes)
    lent = np.frombuffer(memory, np.uint64)
    lent[:] = array
    timer = threading.Timer(0.02, signal.raise_signal, [signal.SIGINT])
    try:
        timer.start()
        call(lent, 8)
        timer.join()
        time.sleep(0.05)
    except KeyboardInterrupt:
        pass
    timer.join()
    assert libc.mprotect(ctypes.c_void_p(lent.ctypes.data), ctypes.c_size_t(array.nbytes), 0) == 0
    time.sleep(0.2)
    kept = globals().setdefault("kept", [])
    kept.append((memory, lent))
print("alive", flush=True)
import os
os._exit(0)
"""
    found = run_python(code, str(tmp_path))
    assert found.stdout == "alive\n", (found.returncode, found.stderr)


def test_other_threads_run_meanwhile() -> None:
    array = np.random.default_rng(2).integers(0, 2**64, 1_000_000, dtype=np.uint64)
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    simidx.clusters(array, 3)
    stop.set()
    thread.join()
    assert ticks > 5


def test_threads_share_an_index(tmp_path: Path) -> None:
    index = simidx.build(tmp_path / "a.simidx", ARRAY)
    expected = index.query(ARRAY).distances.tolist()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for threads in (None, 1, 2):
            for found in pool.map(lambda _, threads=threads: index.query(ARRAY, threads=threads), range(12)):
                assert found.distances.tolist() == expected


def pool_threads() -> set[str]:
    """The threads of simidx that wait for work."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        # One may just have ended.
        with contextlib.suppress(OSError):
            if (task / "comm").read_text().startswith("simidx-"):
                found.add(task.name)
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="not on this system")
def test_counted_threads_are_used_again(tmp_path: Path) -> None:
    index = simidx.build(tmp_path / "a.simidx", ARRAY)
    index.query(ARRAY, threads=1)
    # Those of earlier calls that are not kept have ended by then.
    time.sleep(0.5)
    before = pool_threads()
    assert before
    for _ in range(3):
        index.query(ARRAY, threads=1)
    assert pool_threads() == before


def in_child(index: simidx.Index) -> list[int]:
    """Searches in another process."""
    return [int(offset) for offset in index.query(ARRAY).offsets]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_open_an_index_again(tmp_path: Path, method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("not on this system")
    index = simidx.build(tmp_path / "a.simidx", ARRAY)
    expected = index.query(ARRAY).offsets.tolist()
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(in_child, [index] * 4).get(120) == [expected] * 4


def small_memory(folder: str) -> list[int]:
    """Work that sorts in files, on all threads."""
    array = np.random.default_rng(6).integers(0, 2**64, 2_000_000, dtype=np.uint64)
    index = simidx.build(os.path.join(folder, f"{os.getpid()}.simidx"), array, "rows", memory="70MB")
    pairs = simidx.pairs(array[:50_000], 6, memory="70MB", threads=2)
    kept = simidx.dedup(array[:50_000], 3, memory="90MB")
    merged = simidx.merge(os.path.join(folder, f"{os.getpid()}-2.simidx"), index, memory="70MB")
    return [len(index), len(pairs[0]), int(kept.sum()), merged.record_count]


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="not on this system")
def test_a_fork_works_on_with_little_memory(tmp_path: Path) -> None:
    expected = small_memory(str(tmp_path))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(small_memory, [str(tmp_path)] * 2).get(240) == [expected] * 2


def test_pickles_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    simidx.build("a.simidx", ARRAY).close()
    index = simidx.open("a.simidx", in_memory=True)
    dumped = pickle.dumps(index)
    assert len(dumped) < 1000
    monkeypatch.chdir("/")
    again = pickle.loads(dumped)
    assert again.paths == [tmp_path / "a.simidx"]
    assert again.query(ARRAY).offsets.tolist() == index.query(ARRAY).offsets.tolist()


def test_pickles_the_file_that_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    simidx.build("a.simidx", [7]).close()
    monkeypatch.chdir(tmp_path)
    index = simidx.build("a.simidx", ARRAY)
    monkeypatch.chdir(tmp_path / "other")
    assert len(pickle.loads(pickle.dumps(index))) == len(index)


@pytest.mark.parametrize("ids", [None, list(range(1000, 1000 + len(ARRAY))), [f"p{i}" for i in range(len(ARRAY))]])
def test_answers_are_pickled_without_their_index(tmp_path: Path, ids: list[Any] | None) -> None:
    with simidx.build(tmp_path / "a.simidx", ARRAY, ids=ids) as index:
        found = index.query(ARRAY[:20], k=12)
        one = index.query_one(ARRAY[0], k=12)
        dumped = pickle.dumps((found, one, found.of(0)))
        expected = (found.to_pandas(), found.ids(), repr(one), [match.rank for match in found.of(3)])
    (tmp_path / "a.simidx").unlink()
    found, one, of_first = pickle.loads(dumped)
    assert found.to_pandas().equals(expected[0])
    assert found.ids() == expected[1]
    assert repr(one) == expected[2] == repr(of_first)
    assert [match.rank for match in found.of(3)] == expected[3]
    assert (found.query_count, found.match_count) == (20, len(expected[0]))
    again = pickle.loads(pickle.dumps(found))
    assert again.to_pandas().equals(expected[0])


def test_progress_is_told_and_may_stop_the_work(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    array = np.random.default_rng(3).integers(0, 2**64, 2_000_000, dtype=np.uint64)
    simidx.build(tmp_path / "a.simidx", array, progress=lambda *news: seen.append(news))
    assert seen
    assert all(0 <= done <= total for _, done, total in seen)

    def stop(stage: str, done: int, total: int) -> None:
        raise RuntimeError(stage)

    with pytest.raises(RuntimeError):
        simidx.build(tmp_path / "b.simidx", array, progress=stop)
    assert [path.name for path in tmp_path.glob("*.simidx")] == ["a.simidx"]
    with pytest.raises(simidx.InputTypeError):
        simidx.build(tmp_path / "b.simidx", array, progress=5)  # type: ignore[arg-type]


def test_searches_say_how_far_they_are() -> None:
    array = np.random.default_rng(3).integers(0, 2**64, 1_000_000, dtype=np.uint64)
    calls: list[Any] = [simidx.pairs, partial(simidx.pairs, rows=True), simidx.clusters, simidx.dedup]
    for call in calls:
        seen: list[tuple[str, int, int]] = []
        call(array, 4, progress=lambda *news, seen=seen: seen.append(news))
        assert all(done <= total for _, done, total in seen)

        def stop(stage: str, done: int, total: int) -> None:
            raise RuntimeError(stage)

        with pytest.raises(RuntimeError):
            call(array, 9, progress=stop)


def test_misuse_of_keywords_is_answered_by_kind() -> None:
    wrong_kind: list[dict[str, Any]] = [
        {"threads": "all"},
        {"threads": 1.5},
        {"threads": True},
        {"k": 2.0},
        {"k": "3"},
        {"memory": 1.5},
        {"memory": []},
        {"signed": 1},
        {"signed": "yes"},
        {"width": "64"},
        {"temp_dir": 5},
        {"progress": 5},
    ]
    misspelt: dict[str, Any] = {"thraeds": 2}
    for call in (simidx.pairs, simidx.clusters, simidx.dedup):
        for wrong in wrong_kind:
            with pytest.raises(TypeError) as refused:
                call([1, 2], **wrong)
            assert isinstance(refused.value, simidx.Error), wrong
        for wrong in ({"threads": -1}, {"k": 129}, {"k": -1}, {"memory": "much"}, {"memory": -1}, {"width": 63}):
            with pytest.raises(simidx.OptionError) as out_of_range:
                call([1, 2], **wrong)
            assert not isinstance(out_of_range.value, TypeError), wrong
        with pytest.raises(TypeError, match=r"unexpected keyword argument 'thraeds'"):
            call([1, 2], **misspelt)
    with pytest.raises(simidx.OptionTypeError, match="against"):
        simidx.dedup([1], against=[1])  # type: ignore[arg-type]
    with pytest.raises(simidx.OptionTypeError, match="words"):
        simidx.dedup_texts(["a"], words="3")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"dedup_texts\(\) got an unexpected"):
        simidx.dedup_texts(["a"], max_pairs=3)  # type: ignore[call-arg]


def test_a_closed_index_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.simidx"
    with simidx.build(path, ARRAY, "rows") as index:
        found = index.query(ARRAY[:5])
        assert not index.closed
    assert index.closed
    assert repr(index) == "<simidx.Index, closed>"
    index.close()
    calls: list[Any] = [
        lambda: index.query([1]),
        lambda: index.query_one(1),
        lambda: index.nearest([1]),
        lambda: index.contains([1]),
        lambda: index.join([1]),
        lambda: index.fingerprints(),
        lambda: index.records(),
        lambda: index.ids_of(1),
        lambda: index.fingerprints_of(1),
        lambda: index.verify(),
        lambda: index.warm(),
        lambda: index.info(),
        lambda: index.paths,
        lambda: len(index),
        lambda: 1 in index,
        lambda: pickle.dumps(index),
        lambda: simidx.dedup(ARRAY, against=index),
        lambda: simidx.merge(tmp_path / "b.simidx", [index]),
    ]
    for call in calls:
        with pytest.raises(simidx.ClosedError):
            call()
    # Answers keep what they need.
    assert len(found.ids()) == found.match_count


def test_facts_in_words(tmp_path: Path) -> None:
    index = simidx.build(tmp_path / "a.simidx", ARRAY)
    assert repr(index).endswith(f"{len(index)} fingerprints of 64 bits, k=3, ids=none>")
    assert "of 2000 queries" in repr(index.query(ARRAY))
    assert index.paths == [tmp_path / "a.simidx"]
    assert repr(index.query_one(int(ARRAY[0]))[0]).startswith("Match(fingerprint=0x")


def test_files_that_are_not_there_or_not_indexes(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.simidx"):
        simidx.open(tmp_path / "none.simidx")
    with pytest.raises(simidx.FileError):
        simidx.open(tmp_path)
    with pytest.raises(simidx.FileMissingError):
        simidx.build(tmp_path / "no folder" / "a.simidx", ARRAY)
    for content in (b"", b"text", bytes(1000)):
        path = tmp_path / "other"
        path.write_bytes(content)
        with pytest.raises(simidx.FormatError, match="other") as refused:
            simidx.open(path)
        assert refused.value.kind == "not-simidx"
        assert isinstance(refused.value.rule, int)
    for wrong in (None, 5, b"x", [], [None]):
        with pytest.raises(simidx.Error):
            simidx.open(wrong)  # type: ignore[arg-type]
    narrow = simidx.build(tmp_path / "a.simidx", ARRAY)
    wide = simidx.build(tmp_path / "b.simidx", [1], width=128)
    with pytest.raises(simidx.InputError, match="width"):
        simidx.open([tmp_path / "a.simidx", tmp_path / "b.simidx"])
    with pytest.raises(simidx.InputError, match="width"):
        simidx.merge(tmp_path / "c.simidx", [narrow, wide])
    with pytest.raises(simidx.Error):
        simidx.merge(tmp_path / "c.simidx", [])
    with pytest.raises(simidx.InputTypeError, match="inputs: NoneType"):
        simidx.merge(tmp_path / "c.simidx", None)  # type: ignore[arg-type]


def test_damage_raises_and_nothing_worse(tmp_path: Path) -> None:
    path = tmp_path / "a.simidx"
    index = simidx.build(path, ARRAY, [f"d{row}" for row in range(len(ARRAY))], tables=2)
    index.verify()
    index.warm()
    good = path.read_bytes()
    rng = np.random.default_rng(5)
    refused = 0
    for round_ in range(60):
        bad = bytearray(good)
        if round_ % 4 == 3:
            del bad[int(rng.integers(0, len(bad))) :]
        else:
            place = int(rng.integers(0, len(bad)))
            bad[place] ^= 1 << int(rng.integers(0, 8))
        broken = tmp_path / f"{round_}.simidx"
        broken.write_bytes(bad)
        try:
            opened = simidx.open(broken)
            found = opened.query(ARRAY, 4)
            found.ids()
            _ = found.ranks
            opened.nearest(ARRAY[:50], 3)
            opened.join(ARRAY, 3)
            opened.warm()
            opened.fingerprints_of("d7")
        except simidx.FormatError:
            refused += 1
        with pytest.raises(simidx.FormatError):
            simidx.open(broken).verify()
    assert refused > 20


def test_the_program_comes_along(tmp_path: Path) -> None:
    values = tmp_path / "values.txt"
    values.write_text("".join(f"{value:016x}\n" for value in ARRAY[:100]))
    path = tmp_path / "a.simidx"
    program = [sys.executable, "-m", "simidx"]
    made = subprocess.run(
        [*program, "build", str(values), "-o", str(path)], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    with simidx.open(path) as index:
        assert index.record_count == 100
        expected = index.query_one(int(ARRAY[0]))
    asked = [*program, "query", str(path), f"{ARRAY[0]:016x}"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert found.returncode == 0
    assert [line.split("\t")[1] for line in found.stdout.splitlines()] == [match.hex for match in expected]
    wrong = subprocess.run([*program, "bulid"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "did you mean" in wrong.stderr
    version = subprocess.run([*program, "--version"], capture_output=True, text=True, check=False)
    assert version.stdout.split()[1] == simidx.__version__
    script = Path(sys.executable).with_name("simidx")
    if script.exists():
        same = subprocess.run([script, "--version"], capture_output=True, text=True, check=False)
        assert same.stdout == version.stdout


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_the_program(tmp_path: Path) -> None:
    out = tmp_path / "a.simidx"
    program = [sys.executable, "-m", "simidx", "build", "--input", "hex", "-", "-o", str(out)]
    # A shell lets what runs in the background ignore the signal.
    heeds_signal = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(program, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=heeds_signal)
    assert process.stdin is not None
    process.stdin.write(b"0123456789abcdef\n" * 1000)
    process.stdin.flush()
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == -signal.SIGINT
    process.stdin.close()
    assert list(tmp_path.iterdir()) == []


def test_a_warning_names_the_line_of_the_caller(tmp_path: Path) -> None:
    name = "web,fingerprint=minhash,weights=log2"
    calls: list[Callable[[], object]] = [
        lambda: simidx.Pipeline(name),
        lambda: simidx.compare("a b c", "a b d", pipeline=name),
        lambda: simidx.dedup_texts(["a b c"], pipeline=name),
        lambda: simidx.build(tmp_path / "a.simidx", [1], pipeline=name),
        lambda: simidx.Collection(tmp_path / "either", pipeline=name),
        lambda: simidx.Collection.create(tmp_path / "created", pipeline=name),
    ]
    for call in calls:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert [warning.filename for warning in caught] == [__file__]


def test_answers_are_told_apart_by_identity(tmp_path: Path) -> None:
    with simidx.Collection(tmp_path / "pages") as pages:
        first, second = pages.add("a", 1), pages.add("b", 1)
        assert repr(second) == f'Added(outcome="new", matches={second.matches})'
        assert repr(pages.add_many(["c"], [3])) == "<simidx.Additions: 1 records, 1 matches>"
        found = pages.query_one(1)[0]
        assert len({first, second, found, simidx.compare("a", "b")}) == 4
        assert found != pages.query_one(1)[0]


def test_options_of_a_wrong_type_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.simidx"
    index = simidx.build(path, [1], id_lookup=cast(Any, np.bool_(True)), metadata=cast(Any, {"rows": 5}))
    assert index.info()["metadata"] == {"rows": "5"}
    wrong: list[tuple[str, Callable[[Any], object], object]] = [
        ("metadata", lambda value: simidx.build(path, [1], metadata=value), 5),
        ("codec", lambda value: simidx.build(path, [1], codec=value), 5),
        ("warm", lambda value: simidx.open(path, warm=value), "no"),
        ("similarity", lambda value: simidx.dedup_texts(["a"], value), None),
    ]
    for name, call, value in wrong:
        with pytest.raises(simidx.OptionTypeError, match=f"^{name}="):
            call(value)
    with pytest.raises(TypeError, match="unexpected argument 'in_memry'"):
        simidx.Index({"path": path, "in_memry": True})
