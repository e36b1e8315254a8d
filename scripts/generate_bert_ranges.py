#!/usr/bin/env python3
"""Writes src/embedder/local/bert_ranges.c: how the reference tokenizer classifies code points.

BERT's text rules rest on Unicode categories, and the reference implementation (the Hugging Face
`tokenizers` library) has those of Unicode 8.0. Text must give the same tokens whatever Unicode
version a machine's ICU has, so the categories are asked of the reference once and kept.

usage: python3 -m venv V && V/bin/pip install tokenizers && V/bin/python scripts/generate_bert_ranges.py
"""
import os

from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer


def rule(**on):
    names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    return BertNormalizer(**{name: on.get(name, False) for name in names})


clean, spaced, stripped = rule(clean_text=True), rule(handle_chinese_chars=True), rule(strip_accents=True)
words = BertPreTokenizer()


def classes():
    """Yields (class, code point)."""
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000:
            continue
        text = "a" + chr(code) + "b"
        if clean.normalize_str(text) == "ab":
            yield "REMOVED", code
        if spaced.normalize_str(text) != text:
            yield "IDEOGRAPH", code
        if stripped.normalize_str(text) == "ab":
            yield "MARK", code
        parts = len(words.pre_tokenize_str(text))
        if parts == 2:
            yield "SPACE", code
        if parts == 3:
            yield "PUNCTUATION", code


def ranges():
    open_range = {}
    done = []
    for name, code in classes():
        if name in open_range and open_range[name][1] + 1 == code:
            open_range[name][1] = code
        else:
            if name in open_range:
                done.append((name, *open_range[name]))
            open_range[name] = [code, code]
    done += [(name, *both) for name, both in open_range.items()]
    return sorted(done)


def main():
    path = os.path.join(os.path.dirname(__file__), "..", "src", "embedder", "local", "bert_ranges.c")
    with open(path, "w", encoding="ascii") as out:
        out.write("/* Made by scripts/generate_bert_ranges.py; do not edit. */\n")
        out.write('#include "embedder/local/bert_text.h"\n\n')
        out.write("/* clang-format off */\nconst struct bert_range bert_ranges[] = {\n")
        line = "   "
        for name, first, last in ranges():
            item = " {BERT_%s, 0x%X, 0x%X}," % (name, first, last)
            if len(line) + len(item) > 110:
                out.write(line + "\n")
                line = "   "
            line += item
        out.write(line + "\n};\n/* clang-format on */\n")
        out.write("const size_t bert_range_count = sizeof bert_ranges / sizeof bert_ranges[0];\n")


main()
