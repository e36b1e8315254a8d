#!/usr/bin/env python3
"""Makes tests/golden/encoder: texts of our own with what the reference implementations give for them.

tokenizer.json  a small WordPiece vocabulary of our own
tokenizer.jsonl {"text", "ids"}: texts under that vocabulary
minilm.jsonl    {"text", "ids"}: texts under all-MiniLM-L6-v2, window 256
minilm.f32      their vectors (ONNX Runtime, f32, mean pooling, length 1): little-endian rows of 384

usage: python3 -m venv V && V/bin/pip install tokenizers onnxruntime numpy
       V/bin/python scripts/make_encoder_golden.py MODEL_FOLDER ONNX_FILE
"""
import json
import pathlib
import random
import sys

import numpy
import onnxruntime
from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "encoder"
WINDOW = 256

ODD = [
    "", " ", "a", "Hello, World!", "naïve café — déjà vu", "CAFÉ Cafe\u0301", "İstanbul'da ISPARTA ılık",
    "ΟΔΟΣ Οδός ς", "straße STRASSE ẞ", "ﬁle ﬀ ﬃ", "Å Å A\u030a", "…“quoted”…", "e.g. (a+b)*c=$5^2 `x`~y|z",
    "tab\tnew\nline\rreturn\x0bvertical\x0cform\x1funit\x85next\xa0nbsp\u2003em\u3000ideographic",
    "zero\u200bwidth\u200djoin\ufeffbom soft\u00adhyphen \ufffd replacement",
    "漢字とかな カタカナ ｶﾀｶﾅ 한국어 \uf900\U0002f800", "中文没有空格", "Москва́ слона — ёлка Й", "العَرَبِيَّة مَرْحَبًا",
    "עִבְרִית שָׁלוֹם", "हिन्दी में नमस्ते", "ไทยไม่มีช่องว่าง", "emoji 😀👨‍👩‍👧 flag 🇩🇪 ❤️", "[CLS] in text [SEP] and [MASK][UNK]",
    "[ SEP ] [sep] [[SEP]]", "x" * 100, "x" * 101, "y" * 500, "Supercalifragilisticexpialidocious",
    "snake_case kebab-case camelCase HTTP2Server v1.2.3-rc4", "https://example.org/a/b?c=d&e=%20#f", "3.14159 1,000,000 ½ ² ①",
    "a\u0300\u0316\u0301b e\u0323\u0302", "\U0001d165\u0334\u0338\U0001d16e", "\u1100\u1161\u11a8 각", "\u037e \u1fef \u2260 \u226f",
    "\u0344\u0340\u0958\u2126\u212a\u212b", "\u1885\ua9bd\u166d\u1734\U000111c9\u0898", "don't can't it's o'clock",
    "        leading and trailing        ", "!!!???...,,,;;;", "ÀÉÎÕÜ àéîõü ŁØÐ łøð",
]
SENTENCES = [
    "The ferry leaves the island at half past six and returns before dark.",
    "Permission checks belong inside the index, not behind it.",
    "She measured the pressure of the vessel twice and wrote both values down.",
    "Quarterly revenue grew by 4.7 percent, mostly from subscriptions.",
    "To descale the kettle, fill it with water and two spoons of citric acid.",
    "A transaction either happens whole or leaves no trace.",
    "The committee adopted the minutes of its last meeting without changes.",
    "Glaciers carve valleys that are broad at the bottom and steep at the sides.",
    "Restart the service after editing the configuration file in /etc.",
    "Birds of this family nest in holes and eat seeds, insects and berries.",
    "Das Wetter bleibt bis Freitag kühl und regnerisch.",
    "The lease ends on 31 March unless either party renews it in writing.",
    "Her grandmother baked rye bread every Saturday morning.",
    "A hash function maps inputs of any size to outputs of one size.",
    "Le train de nuit arrive à Marseille à sept heures.",
    "Patients with a fever above 39 degrees should see a doctor.",
]


def texts_of_many_lengths():
    rng = random.Random(7)
    words = " ".join(SENTENCES).split()
    for length in [1, 2, 3, 5, 8, 13, 16, 21, 31, 32, 33, 47, 63, 64, 65, 90, 127, 128, 140, 180, 220, 300]:
        yield " ".join(rng.choice(words) for _ in range(length))


def small_tokenizer():
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens += list(letters) + ["##" + letter for letter in letters]
    tokens += list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~…“”—") + list("漢中文字かなσςоскваלם한")
    tokens += ["##οσ", "мо", "##сква", "##и", "сло", "##на", "##ᆨ", "가", "the", "##ing", "##s", "##er", "naive", "cafe", "index",
               "inside", "per", "##mission", "check", "hel", "##lo", "world", "ferry", "island", "##land", "is", "istanbul"]
    tokens = list(dict.fromkeys(tokens))
    special = [{"id": i, "content": tokens[i], "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False, "special": True} for i in range(5)]
    piece = lambda name: {"SpecialToken": {"id": name, "type_id": 0}}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [piece("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, piece("[SEP]")],
            "pair": [],
            "special_tokens": {name: {"id": name, "ids": [tokens.index(name)], "tokens": [name]}
                               for name in ("[CLS]", "[SEP]")}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {token: i for i, token in enumerate(tokens)}},
    }


def write_texts(path, texts, tokenizer):
    with open(path, "w", encoding="utf-8") as out:
        for text in texts:
            ids = tokenizer.encode(text).ids
            out.write(json.dumps({"text": text, "ids": ids}, ensure_ascii=True) + "\n")
            yield ids


def main():
    folder, onnx = pathlib.Path(sys.argv[1]), sys.argv[2]
    HERE.mkdir(parents=True, exist_ok=True)
    (HERE / "tokenizer.json").write_text(json.dumps(small_tokenizer(), ensure_ascii=True, indent=0) + "\n")
    texts = ODD + SENTENCES + list(texts_of_many_lengths())
    small = Tokenizer.from_file(str(HERE / "tokenizer.json"))
    small.enable_truncation(WINDOW)
    list(write_texts(HERE / "tokenizer.jsonl", texts, small))

    real = Tokenizer.from_file(str(folder / "tokenizer.json"))
    real.no_padding()
    real.enable_truncation(WINDOW)
    session = onnxruntime.InferenceSession(onnx, providers=["CPUExecutionProvider"])
    rows = []
    for ids in write_texts(HERE / "minilm.jsonl", texts, real):
        ids = numpy.array([ids], dtype=numpy.int64)
        hidden = session.run(["last_hidden_state"], {
            "input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)})[0]
        mean = hidden[0].mean(axis=0)
        rows.append(mean / numpy.linalg.norm(mean))
    numpy.array(rows, dtype="<f4").tofile(HERE / "minilm.f32")
    print(len(texts), "texts")


main()
