#!/usr/bin/env python3
"""Makes tests/golden/encoder/tiny.f32: the vectors of the models with random weights of tests/tiny_model.h, as a plain
encoder in numpy has them (bert_reference.py). Rows of 40 f32 (little-endian) for the texts of
tests/unit/encoder_model.c: BERT with mean pooling, BERT with CLS pooling, XLM-R with mean pooling.

usage: python3 -m venv V && V/bin/pip install tokenizers numpy safetensors
       V/bin/python scripts/make_tiny_golden.py
"""
import json
import pathlib
import tempfile

import numpy
from safetensors.numpy import save_file
from tokenizers import Tokenizer

import bert_reference

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "encoder"
HIDDEN, HEADS, WIDE, LAYERS, POSITIONS, TYPES, WINDOW = 40, 4, 72, 2, 64, 2, 48
TEXTS = ["The cafe", "", "permission checks belong inside the index", "a",
         "a much longer text that fills the window of the small model and is cut at its end, because the window "
         "has room for forty-eight tokens and this text has a good many more than that"]


class Weights:
    """As tests/tiny_model.h makes them, in the same order."""

    def __init__(self, words):
        self.state, self.tensors = 88172645463325252, {}
        self.tensor("embeddings.word_embeddings.weight", (words, HIDDEN), 0, 2)
        self.tensor("embeddings.position_embeddings.weight", (POSITIONS, HIDDEN), 0, 0.1)
        self.tensor("embeddings.token_type_embeddings.weight", (TYPES, HIDDEN), 0, 0.1)
        self.norm("embeddings.LayerNorm")
        for layer in range(LAYERS):
            name = "encoder.layer.%d." % layer
            for part in ("self.query", "self.key", "self.value", "output.dense"):
                self.linear(name + "attention." + part, HIDDEN, HIDDEN)
            self.norm(name + "attention.output.LayerNorm")
            self.linear(name + "intermediate.dense", WIDE, HIDDEN)
            self.linear(name + "output.dense", HIDDEN, WIDE)
            self.norm(name + "output.LayerNorm")

    def random(self):
        self.state ^= self.state << 13 & 0xFFFFFFFFFFFFFFFF
        self.state ^= self.state >> 7
        self.state ^= self.state << 17 & 0xFFFFFFFFFFFFFFFF
        return (self.state >> 11) / 2 ** 52 - 1

    def tensor(self, name, shape, centre, spread):
        values = [centre + spread * self.random() for _ in range(numpy.prod(shape))]
        self.tensors[name] = numpy.array(values, dtype=numpy.float32).reshape(shape)

    def norm(self, name):
        self.tensor(name + ".weight", (HIDDEN,), 1, 0.2)
        self.tensor(name + ".bias", (HIDDEN,), 0, 0.1)

    def linear(self, name, outputs, inputs):
        self.tensor(name + ".weight", (outputs, inputs), 0, 0.15)
        self.tensor(name + ".bias", (outputs,), 0, 0.1)


def vectors(tokenizer_name, cls, family):
    tokenizer = Tokenizer.from_file(str(FOLDER / tokenizer_name))
    tokenizer.enable_truncation(WINDOW)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": cls}))
        (folder / "config.json").write_text(json.dumps({
            "model_type": family, "num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "pad_token_id": 1}))
        save_file(Weights(tokenizer.get_vocab_size()).tensors, str(folder / "model.safetensors"))
        model = bert_reference.Model(folder)
        return [model.vector(tokenizer.encode(text).ids) for text in TEXTS]


def main():
    rows = (vectors("tokenizer.json", False, "bert") + vectors("tokenizer.json", True, "bert")
            + vectors("unigram.json", False, "xlm-roberta"))
    numpy.array(rows, dtype="<f4").tofile(FOLDER / "tiny.f32")
    print(len(rows), "vectors")


main()
