#!/usr/bin/env python3
"""The program on disks that do not do as they should: a full one, one that cannot be written, folders that may not be
read. Prints TAP. Mounts small disks of its own, which takes root: without it, those checks are skipped.

usage: hostile_disk.py PROGRAM"""
import contextlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
WAIT = 120  # seconds: the longest anything here may take; sanitizers are slow
NOBODY = 65534

root = pathlib.Path(tempfile.mkdtemp(prefix="ibid-disk-"))
root.chmod(0o755)
environment = {key: value for key, value in os.environ.items() if not key.startswith("IBID_")}
environment |= {"IBID_EMBEDDER_PROVIDER": "hash", "HOME": str(root), "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}


class Skip(Exception):
    pass


def run(data, *arguments, **more):
    """Runs the program on a data folder; gives its exit status, and standard output and error as one text."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=WAIT, env=environment | {"IBID_DATA": str(data)}, **more)
    assert "Sanitizer" not in done.stdout and "BUG" not in done.stdout, done.stdout
    return done.returncode, done.stdout


def completed(data):
    status, text = run(data, "status", "--json")
    assert status == 0, text
    return json.loads(text[text.index("{"):])["documents"]["completed"]


@contextlib.contextmanager
def disk(size):
    """A disk of that size."""
    place = pathlib.Path(tempfile.mkdtemp(dir=root))
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place],
                                           capture_output=True).returncode != 0:
        raise Skip("mounting a disk takes root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def remount(place, options):
    subprocess.run(["mount", "-o", f"remount,{options}", place], check=True)


def write_documents(folder, count):
    folder.mkdir()
    dice = random.Random(4)
    words = ["".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(3, 9))) for _ in range(20000)]
    for number in range(count):
        paragraphs = [" ".join(dice.choices(words, k=80)) for _ in range(60)]
        (folder / f"note{number:03}.txt").write_text(f"Number{number:03}x.\n\n" + "\n\n".join(paragraphs))


def test_a_full_disk_loses_nothing():
    docs = root / "many"
    write_documents(docs, 200)
    with disk("16m") as place:
        data = place / "data"
        status, text = run(data, "index", docs)
        assert status != 0 and "no space left" in text.lower(), text
        before = completed(data)
        assert 0 < before < 200
        # Where the run was stopped decides whether the index still has room; a full disk is no damage either way.
        status, text = run(data, "verify")
        assert "damaged" not in text and ("no space" in text.lower() if status else "in order" in text), text
        remount(place, "size=200m")
        assert run(data, "verify")[0] == 0
        assert completed(data) == before  # what was acknowledged is there
        status, text = run(data, "index", docs)
        assert status == 0, text
        assert completed(data) == 200
        assert run(data, "verify")[0] == 0
        for number in (0, 150, 199):
            status, text = run(data, "search", f"Number{number:03}x", "-k", "1")
            assert status == 0 and f"note{number:03}.txt" in text, text


def test_a_data_folder_that_cannot_be_written_is_said_so():
    docs = root / "few"
    write_documents(docs, 3)
    with disk("100m") as place:
        data = place / "data"
        assert run(data, "index", docs)[0] == 0
        remount(place, "ro")
        status, text = run(data, "index", docs)
        assert status != 0 and str(data) in text and "read-only" in text.lower(), text
        remount(place, "rw")
        assert run(data, "verify")[0] == 0


def other_user():
    """How to run the program as somebody whom permissions hold back: not as root."""
    if os.geteuid() != 0:
        return {}
    if subprocess.run(["test", "-x", PROGRAM], user=NOBODY).returncode != 0:
        raise Skip("the build is where only root may go")
    return {"user": NOBODY}


def test_a_folder_that_may_not_be_read_is_passed_over():
    drop = other_user()
    docs, home = root / "mixed", root / "home"
    write_documents(docs, 2)
    closed = docs / "closed"
    write_documents(closed, 1)
    home.mkdir()
    for path in (docs, home, closed):
        os.chown(path, NOBODY, -1) if os.geteuid() == 0 else None
    closed.chmod(0)
    try:
        status, text = run(home / "data", "index", docs, **drop)
        assert status == 0 and "unreadable" in text, text
        status, text = run(home / "data", "search", "Number001x", **drop)
        assert status == 0 and "note001.txt" in text, text
    finally:
        closed.chmod(0o700)


def test_a_missing_model_leaves_search_by_word():
    docs, data = root / "plain", root / "data"
    write_documents(docs, 2)
    local = ["--set", "embedder.provider=local", "--set", "embedder.local.model=/no/such/model"]
    status, text = run(data, "index", docs, *local)
    assert status == 0 and "/no/such/model" in text, text
    status, text = run(data, "search", "Number001x", *local)
    assert status == 0 and "/no/such/model" in text and "note001.txt" in text, text


tests = [value for name, value in list(globals().items()) if name.startswith("test_")]
failed = 0
print(f"1..{len(tests)}")
try:
    for number, test in enumerate(tests, 1):
        name = test.__name__.removeprefix("test_")
        try:
            test()
            print(f"ok {number} - {name}")
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}")
        except Exception as error:
            failed += 1
            print(f"not ok {number} - {name}")
            print("".join(f"# {line}\n" for line in f"{type(error).__name__}: {error}".splitlines()), end="")
        sys.stdout.flush()
finally:
    shutil.rmtree(root, ignore_errors=True)
sys.exit(failed > 0)
