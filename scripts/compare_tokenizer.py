#!/usr/bin/env python3
"""Compares ibid's tokenizer with the reference (the Hugging Face `tokenizers` library), id by id.

Texts: every corpus and query text of a folder of BEIR-layout collections, random Unicode strings,
and every code point between two letters. Ends with a count; exits with 1 at the first difference.

usage: python3 -m venv V && V/bin/pip install tokenizers
       V/bin/python scripts/compare_tokenizer.py TOKENIZE_PROGRAM TOKENIZER.JSON [FOLDER]
"""
import json
import pathlib
import random
import struct
import subprocess
import sys

from tokenizers import Tokenizer

WINDOW = 256


def collection_texts(folder):
    for path in sorted(pathlib.Path(folder).rglob("*.jsonl")):
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                yield ((row.get("title") or "") + " " + (row.get("text") or "")).strip()


def random_code_point(rng, blocks):
    kind = rng.random()
    if kind < 0.25:
        return rng.randrange(0x20, 0x7F)
    if kind < 0.4:
        return rng.randrange(0, 0x3000)
    if kind < 0.8:
        first = rng.choice(blocks)
        return rng.randrange(first, min(first + 0x80, 0x110000))
    return rng.randrange(0, 0x110000)


def random_texts(count):
    rng = random.Random(20240701)
    blocks = [0x41, 0xC0, 0x300, 0x370, 0x400, 0x590, 0x600, 0x900, 0xE00, 0x1100, 0x1E00, 0x1F00, 0x2000,
              0x2100, 0x2580, 0x3040, 0x30A0, 0x4E00, 0xAC00, 0xF900, 0xFB00, 0xFE00, 0xFF00, 0x1D165, 0x1F600, 0x20000]
    for _ in range(count):
        block = rng.sample(blocks, 3)
        text = "".join(chr(code) for code in (random_code_point(rng, block) for _ in range(rng.randrange(120)))
                       if not 0xD800 <= code < 0xE000)
        if rng.random() < 0.1:
            text += rng.choice(["[SEP]", "[CLS] x", "a[MASK]b", "[UNK]", "[ SEP ]", "<s>", "</s> x", "a \u2003<mask> b",
                                "<mask>", "\uff1cs\uff1e", "<unk>", "\u2581", "\u2581 \u2581a", "   ", "\r\n"]) + text[:20]
        yield text


def code_point_texts():
    for code in range(0x110000):
        if not 0xD800 <= code < 0xE000:
            yield "a" + chr(code) + "e"


def main():
    program, path = sys.argv[1:3]
    reference = Tokenizer.from_file(path)
    reference.no_padding()
    texts = list(random_texts(10000))
    print(len(texts), "random strings")
    if len(sys.argv) > 3:
        found = list(collection_texts(sys.argv[3]))
        print(len(found), "texts of", sys.argv[3])
        texts += found
    texts += code_point_texts()
    data = b"".join(struct.pack("=I", len(raw)) + raw for raw in (text.encode() for text in texts))
    out = subprocess.run([program, path, str(WINDOW)], input=data, stdout=subprocess.PIPE, check=True).stdout
    position = 0
    for start in range(0, len(texts), 4096):
        part = texts[start:start + 4096]
        reference.no_truncation()
        whole = [len(encoding.ids) for encoding in reference.encode_batch(part, add_special_tokens=False)]
        reference.enable_truncation(WINDOW)
        for text, total, encoding in zip(part, whole, reference.encode_batch(part)):
            counted, size = struct.unpack_from("=II", out, position)
            ids = list(struct.unpack_from("=%di" % size, out, position + 8))
            position += 8 + 4 * size
            if ids != encoding.ids or counted != total:
                print("DIFFERENT:", ascii(text), "\nreference", total, encoding.ids, "\nours     ", counted, ids)
                sys.exit(1)
    print(len(texts), "texts, all the same")


if __name__ == "__main__":
    main()
