#!/usr/bin/env python3
"""Writes real English texts, one a line, for bench/index: paragraphs of BEIR-layout folders, WordNet glosses (package
wordnet-base) and package descriptions. What is not there is left out and said so.

usage: make_texts.py OUTPUT [IR_FOLDER]   (IR_FOLDER holds folders with a corpus.jsonl and a queries.jsonl)

Beside OUTPUT it writes OUTPUT.queries, the queries of those folders."""
import json
import pathlib
import random
import subprocess
import sys


def paragraphs(folder, name):
    for path in sorted(pathlib.Path(folder).glob(f"*/{name}")):
        if path.parent.name.startswith("xquad-") and path.parent.name != "xquad-en":
            continue
        for line in path.open(encoding="utf-8"):
            row = json.loads(line)
            yield f"{row.get('title', '')} {row['text']}".strip()


def glosses():
    for part in ("noun", "verb", "adj", "adv"):
        path = pathlib.Path("/usr/share/wordnet") / f"data.{part}"
        if not path.exists():
            print(f"left out: {path} is missing (package wordnet-base)", file=sys.stderr)
            continue
        for line in path.open(encoding="utf-8"):
            if "|" in line and line[0] != " ":
                word = line.split()[4].replace("_", " ")
                yield f"{word}: {line.split('|', 1)[1].strip()}"


def descriptions():
    name = ""
    dump = subprocess.run(["apt-cache", "dumpavail"], stdout=subprocess.PIPE, text=True).stdout
    for line in dump.splitlines():
        if line.startswith("Package: "):
            name = line[9:]
        elif line.startswith(("Description: ", "Description-en: ")):
            yield f"{name}: {line.split(': ', 1)[1]}"


output = sys.argv[1]
texts = list(glosses()) + list(descriptions())
queries = []
if len(sys.argv) > 2:
    texts += paragraphs(sys.argv[2], "corpus.jsonl")
    queries += paragraphs(sys.argv[2], "queries.jsonl")
texts = [" ".join(text.split()) for text in dict.fromkeys(texts)]
random.Random(1).shuffle(texts)
random.Random(2).shuffle(queries)
pathlib.Path(output).write_text("\n".join(filter(None, texts)) + "\n", encoding="utf-8")
pathlib.Path(output + ".queries").write_text("\n".join(" ".join(q.split()) for q in queries) + "\n", encoding="utf-8")
print(f"{len(texts)} texts, {len(queries)} queries")
