#!/usr/bin/env python3
"""Compares the keyword side with a reference BM25 (bm25s, Lucene's form, k1 0.9, b 0.4) on the same words:
texts of BEIR-layout collections taken apart by build/tests/terms. Prints nDCG@10 of the reference for each;
tests/golden/relevance.c holds the keyword side to these figures.

usage: python3 -m venv V && V/bin/pip install bm25s numpy
       V/bin/python scripts/compare_bm25.py TERMS_PROGRAM COLLECTION_FOLDER...
"""
import collections
import json
import math
import pathlib
import subprocess
import sys

import bm25s
import numpy


def read_lines(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def words_of(program, texts, language=None):
    """The languages and the words of texts."""
    lines = "\n".join(" ".join(text.split()) for text in texts)
    done = subprocess.run([program] + ([language] if language else []), input=lines.encode(),
                          capture_output=True, check=True)
    parted = [line.split("\t") for line in done.stdout.decode().split("\n")[:-1]]
    return [line[0] for line in parted], [line[1].split() for line in parted]


def ndcg(ranking, judged):
    ideal = sorted((score for score in judged.values() if score > 0), reverse=True)[:10]
    best = sum(score / math.log2(place + 2) for place, score in enumerate(ideal))
    return sum(judged.get(name, 0) / math.log2(place + 2) for place, name in enumerate(ranking[:10])) / best


def measure(program, folder):
    documents, queries = read_lines(folder / "corpus.jsonl"), read_lines(folder / "queries.jsonl")
    judgements = collections.defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text().split("\n")[1:]:
        if line.strip():
            query, document, score = line.split("\t")
            judgements[query][document] = int(score)
    languages, words = words_of(program, [f"{d.get('title') or ''} {d['text']}" for d in documents])
    usual = collections.Counter(languages).most_common(1)[0][0]
    questions = words_of(program, [q["text"] for q in queries], usual)[1]
    index = bm25s.BM25(method="lucene", k1=0.9, b=0.4)
    index.index(words, show_progress=False)
    names, scores = [d["_id"] for d in documents], []
    for query, question in zip(queries, questions):
        judged = judgements[query["_id"]]
        if any(score > 0 for score in judged.values()):
            known = [word for word in dict.fromkeys(question) if word in index.vocab_dict]
            found = index.get_scores(known) if known else numpy.zeros(len(names))
            scores.append(ndcg([names[i] for i in numpy.argsort(-found, kind="stable")[:10]], judged))
    return 100 * sum(scores) / len(scores)


for folder in sys.argv[2:]:
    print(f"{pathlib.Path(folder).name:12} {measure(sys.argv[1], pathlib.Path(folder)):6.2f}", flush=True)
