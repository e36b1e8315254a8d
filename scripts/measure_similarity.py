#!/usr/bin/env python3
"""What a cosine of an embedder means: over BEIR-layout collections, the median cosine of a question with
passages that have nothing to do with it (the catalogue's similarity_floor) and the 90th percentile of
a question with its relevant passages (similarity_ceiling); and nDCG@10 by exact search.

usage: python3 -m venv V && V/bin/pip install numpy
       V/bin/python scripts/measure_similarity.py EMBED_PROGRAM MODEL_FOLDER KERNEL COLLECTION...
"""
import collections
import json
import struct
import subprocess
import sys

import numpy


def embed(program, folder, kernel, texts, *purpose):
    data = b"".join(struct.pack("=I", len(raw)) + raw for raw in (text.encode() for text in texts))
    out = subprocess.run([program, folder, kernel, *purpose], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         check=True).stdout
    return numpy.frombuffer(out, dtype=numpy.float32).reshape(len(texts), -1)


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def ndcg(ranked, judged):
    gain = sum(judged.get(name, 0) / numpy.log2(i + 2) for i, name in enumerate(ranked[:10]))
    best = sorted((value for value in judged.values() if value > 0), reverse=True)[:10]
    return gain / sum(value / numpy.log2(i + 2) for i, value in enumerate(best))


def main():
    program, folder, kernel = sys.argv[1:4]
    rng = numpy.random.default_rng(3)
    unrelated, relevant = [], []
    for collection in sys.argv[4:]:
        corpus, queries = read(collection + "/corpus.jsonl"), read(collection + "/queries.jsonl")
        judged = collections.defaultdict(dict)
        for line in open(collection + "/qrels.tsv").read().split("\n")[1:]:
            if line.strip():
                query, document, value = line.split("\t")[:3]
                judged[query][document] = int(value)
        documents = embed(program, folder, kernel,
                          [((row.get("title") or "") + " " + row["text"]) for row in corpus])
        questions = embed(program, folder, kernel, [row["text"] for row in queries], "query")
        names = [row["_id"] for row in corpus]
        scores, far, near = [], [], []
        for row, question in zip(queries, questions):
            cosines, judgements = documents @ question, judged.get(row["_id"], {})
            if not any(value > 0 for value in judgements.values()):
                continue
            ranked = [names[i] for i in numpy.argsort(-cosines)[:10]]
            scores.append(ndcg(ranked, judgements))
            near += [cosines[i] for i, name in enumerate(names) if judgements.get(name, 0) > 0]
            far += [cosines[i] for i in rng.integers(0, len(names), 50) if names[i] not in judgements]
        print("%-40s nDCG@10 %.2f  unrelated: median %.3f  relevant: median %.3f, 90th percentile %.3f" % (
            collection, 100 * numpy.mean(scores), numpy.median(far), numpy.median(near), numpy.percentile(near, 90)))
        unrelated.append(numpy.median(far))
        relevant.append(numpy.percentile(near, 90))
    print("mean over the collections: floor %.3f, ceiling %.3f" % (numpy.mean(unrelated), numpy.mean(relevant)))


main()
