#!/usr/bin/env python3
"""Makes the Unigram half of tests/golden/encoder: vocabularies trained on texts of our own, with a charsmap of our
own, and what the reference library (Hugging Face `tokenizers`) gives for texts under them.

unigram.json, .jsonl         in the form of XLM-R: charsmap, runs of blanks become one, Metaspace, <mask> takes the
                             blanks before it
unigram_bytes.json, .jsonl   the rest of what is known: Strip, blanks to marks, WhitespaceSplit, byte_fallback, and a
                             template without a beginning

usage: python3 -m venv V && V/bin/pip install tokenizers sentencepiece protobuf onnxruntime numpy
       V/bin/python scripts/make_unigram_golden.py
"""
import base64
import copy
import io
import json
import pathlib
import tempfile

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE.parent / "tests" / "golden" / "encoder"
MARK = "\u2581"

MORE = ["a  b   c", "  two before", "two after  ", "x <mask> y", "x  \u3000<mask>", "<mask>", "<s>a</s>", "<s", "\u2581 \u2581\u2581a",
        "\uff21\uff22\uff43 \uff1cs\uff1e", "e\u0301 E\u0301 \uff25\u0301", "\uff41\u0301\u0302", "a\u0301\u0302\u0303\u0304",
        "\r\n\r\n", "\r\u0301", "1\ufe0f\u20e3 \U0001f1e9\U0001f1ea\U0001f1e9 \u00a9\u200d\u00a9", "\u0600\uff21 \u0600\u0600",
        "\u1112\u1161\u11ab \ud55c\uae00", "\u0e01\u0e33 \u0915\u094d\u0937", "zzz\u4e00zzz", "\u6f22\u6f22\u6f22", "\x00 nul",
        "\u00bd\ufb01\u2126", "nothing\u200bhere\u200b", "\ufffd", "caf\u00e9" * 40, "the ferry " * 50]


def texts():
    """Those of the WordPiece golden, without running the script that makes it."""
    source = (HERE / "make_encoder_golden.py").read_text(encoding="utf-8")
    space = {"random": __import__("random")}
    exec(source[source.index("ODD = ["):source.index("def small_tokenizer")], space)
    return space["ODD"] + MORE + space["SENTENCES"] + list(space["texts_of_many_lengths"]()), space["SENTENCES"]


def charsmap():
    rules = {chr(code): " " for code in (0x09, 0x0A, 0x0D, 0xA0, 0x2003, 0x3000)}
    rules.update({chr(0xFF01 + i): chr(0x21 + i) for i in range(94)})
    rules.update({"\u200b": "", "\u00bd": "1/2", "\ufb01": "fi", "\u2126": "\u03a9", "e\u0301": "\u00e9", "E\u0301": "\u00c9",
                  "\uff25\u0301": "\u00c9", "\r\n": " ", "\x7f": ""})
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8") as table:
        for source, target in rules.items():
            table.write("\t".join(" ".join("%X" % ord(c) for c in part) for part in (source, target)) + "\n")
        table.flush()
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["the quick brown fox", "jumps over the lazy dog"]), model_writer=model, vocab_size=40,
            normalization_rule_tsv=table.name, hard_vocab_limit=False, minloglevel=2)
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()


def pieces(sentences):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences * 3), model_writer=model, vocab_size=260, character_coverage=1.0,
        normalization_rule_name="identity", hard_vocab_limit=False, minloglevel=2)
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return [[piece.piece, round(piece.score, 6)] for piece in proto.pieces if piece.type == 1]


def added(number, content, lstrip=False):
    return {"id": number, "content": content, "single_word": False, "lstrip": lstrip, "rstrip": False,
            "normalized": lstrip, "special": True}


def template(before, after, ids):
    special = lambda name: {"SpecialToken": {"id": name, "type_id": 0}}
    return {"type": "TemplateProcessing",
            "single": [special(name) for name in before] + [{"Sequence": {"id": "A", "type_id": 0}}] + [
                special(name) for name in after],
            "pair": [], "special_tokens": {name: {"id": name, "ids": [ids[name]], "tokens": [name]}
                                           for name in before + after}}


def write(name, tokenizer, all_texts):
    path = FOLDER / (name + ".json")
    path.write_text(json.dumps(tokenizer, ensure_ascii=True, separators=(",", ":")).replace("],[", "],\n[") + "\n")
    reference = Tokenizer.from_file(str(path))
    reference.enable_truncation(256)
    with open(FOLDER / (name + ".jsonl"), "w") as out:
        for text in all_texts:
            if "\x00" not in text:
                out.write(json.dumps({"text": text, "ids": reference.encode(text).ids}) + "\n")


def main():
    all_texts, sentences = texts()
    vocabulary = [["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0]] + pieces(sentences)
    mask = len(vocabulary)
    vocabulary.append(["<mask>", 0.0])
    metaspace = {"type": "Metaspace", "replacement": MARK, "add_prefix_space": True, "prepend_scheme": "always"}
    first = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [added(0, "<s>"), added(1, "<pad>"), added(2, "</s>"), added(3, "<unk>"), added(mask, "<mask>", True)],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Precompiled", "precompiled_charsmap": charsmap()},
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
        "pre_tokenizer": metaspace,
        "post_processor": template(["<s>"], ["</s>"], {"<s>": 0, "</s>": 2}),
        "decoder": metaspace,
        "model": {"type": "Unigram", "unk_id": 3, "vocab": vocabulary, "byte_fallback": False}}
    write("unigram", first, all_texts)
    second = copy.deepcopy(first)
    second["added_tokens"][-1]["normalized"] = False
    second["normalizer"]["normalizers"][1:] = [
        {"type": "Strip", "strip_left": False, "strip_right": True},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": MARK}]
    second["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
        {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": MARK, "add_prefix_space": True, "split": False}]}
    second["post_processor"] = template([], ["</s>"], {"</s>": 2})
    second["model"]["vocab"] += [["<0x%02X>" % byte, -20.0] for byte in range(256)]
    second["model"]["byte_fallback"] = True
    write("unigram_bytes", second, all_texts)
    print(len(all_texts), "texts,", len(vocabulary), "pieces")


main()
