"""Shared by the steps of a release: the version, the commit, the packages of an artefact, archives with fixed bytes."""

import gzip
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DIST = ROOT / "target" / "dist"


def fail(message):
    """Ends the step with one line."""
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {message}")


def run(*command, **options):
    """Returns the output of a command; the step fails if the command does."""
    if shutil.which(command[0]) is None:
        fail(f"{command[0]} is not here")
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8", **options)
    if done.returncode != 0:
        fail(f"{' '.join(command[:3])} failed")
    return done.stdout


def metadata():
    return json.loads(run("cargo", "metadata", "--locked", "--format-version", "1"))


def own_package(name):
    """The manifest of a package of the workspace, as cargo reads it."""
    text = run("cargo", "metadata", "--locked", "--no-deps", "--format-version", "1")
    return next(package for package in json.loads(text)["packages"] if package["name"] == name)


def host():
    """The target that the compiler works on."""
    return next(line[6:] for line in run("rustc", "-vV").splitlines() if line.startswith("host: "))


def commit():
    """The commit of the checkout, as `simidx --version` names it."""
    return os.environ.get("SIMIDX_COMMIT") or run("git", "rev-parse", "HEAD").strip()


def commit_time():
    """When the commit was made: all files of an archive have this time, so that equal inputs give equal bytes."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct"))


def timestamp():
    """When the commit was made, as RFC 3339 writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(commit_time()))


def linked(package, target):
    """The packages whose code is in what is built of a package: (name, version) and what cargo says of each."""
    tree = ["cargo", "tree", "--locked", "-p", package, "--target", target, "--edges", "normal,no-proc-macro"]
    lines = run(*tree, "--prefix", "none", "--format", "{p}").splitlines()
    names = {tuple(line.split()[:2]) for line in lines if line}
    known = {(one["name"], "v" + one["version"]): one for one in metadata()["packages"]}
    return {key: known[key] for key in sorted(names)}


def tar_bytes(entries, compress=True):
    """A tar archive of (name, mode, bytes, or None for a folder), the same for the same entries."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, mode, content in entries:
            info = tarfile.TarInfo(name)
            info.mode, info.mtime = mode, commit_time()
            if content is None:
                info.type = tarfile.DIRTYPE
            else:
                info.size = len(content)
            archive.addfile(info, None if content is None else io.BytesIO(content))
    return gzip.compress(raw.getvalue(), 9, mtime=0) if compress else raw.getvalue()
