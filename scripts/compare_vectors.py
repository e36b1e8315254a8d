#!/usr/bin/env python3
"""Compares the local embedder with the reference: the same model in ONNX Runtime, f32, on 1,000 texts of
1 to 256 tokens (parts of the texts of BEIR-layout collections), at every kernel that runs here; without a
model in that format (-), in numpy, f64 (bert_reference.py), on 100 texts.
Prints the lowest and the mean cosine of each; exits with 1 when one is below its limit.

usage: python3 -m venv V && V/bin/pip install tokenizers onnxruntime numpy safetensors
       V/bin/python scripts/compare_vectors.py EMBED_PROGRAM MODEL_FOLDER ONNX_FILE|- COLLECTIONS_FOLDER [PREFIX]
PREFIX: what the model puts before every passage
"""
import json
import pathlib
import random
import struct
import subprocess
import sys

import numpy
from tokenizers import Tokenizer

KERNELS = {"portable": 0.9999, "avx2": 0.9999, "avx512": 0.9999, "avx512_bf16": 0.999}


def some_texts(folder, count):
    rng = random.Random(11)
    rows = []
    for path in sorted(pathlib.Path(folder).glob("*/corpus.jsonl")):
        with open(path, encoding="utf-8") as lines:
            rows += [json.loads(line)["text"] for line in lines]
    for i in range(count):
        words = rng.choice(rows).split(" ") + rng.choice(rows).split(" ")
        yield " ".join(words[:rng.randrange(1, 240)])


def onnx_vectors(path):
    import onnxruntime
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def vector(ids):
        ids = numpy.array([ids], dtype=numpy.int64)
        hidden = session.run(["last_hidden_state"], {
            "input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)})[0]
        mean = hidden[0].mean(axis=0)
        return mean / numpy.linalg.norm(mean)
    return vector


def numpy_vectors(folder):
    import bert_reference
    return bert_reference.Model(folder).vector


def window(folder):
    path = pathlib.Path(folder) / "sentence_bert_config.json"
    return json.loads(path.read_text())["max_seq_length"] if path.exists() else 256


def main():
    program, folder, onnx, collections = sys.argv[1:5]
    prefix = sys.argv[5] if len(sys.argv) > 5 else ""
    tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(window(folder))
    vector = numpy_vectors(folder) if onnx == "-" else onnx_vectors(onnx)
    texts = list(some_texts(collections, 100 if onnx == "-" else 1000))
    rows, lengths = [], []
    for text in texts:
        ids = tokenizer.encode(prefix + text).ids
        lengths.append(len(ids))
        rows.append(vector(ids))
    reference = numpy.array(rows, dtype=numpy.float64)
    print(len(texts), "texts of", min(lengths), "to", max(lengths), "tokens")
    data = b"".join(struct.pack("=I", len(raw)) + raw for raw in (text.encode() for text in texts))
    failed = False
    for kernel, limit in KERNELS.items():
        run = subprocess.run([program, folder, kernel], input=data, stdout=subprocess.PIPE)
        if run.returncode != 0:
            print(kernel, "not run")
            continue
        ours = numpy.frombuffer(run.stdout, dtype=numpy.float32).reshape(reference.shape).astype(numpy.float64)
        cosines = (ours * reference).sum(axis=1)
        print("%-12s lowest %.7f mean %.7f (limit %.4f)" % (kernel, cosines.min(), cosines.mean(), limit))
        failed |= not cosines.min() >= limit
    sys.exit(1 if failed else 0)


main()
