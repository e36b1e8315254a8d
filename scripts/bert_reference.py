"""A BERT encoder in numpy, written down plainly from the papers (Devlin et al. 2018; Reimers and Gurevych 2019):
what ibid's local encoder is compared with where a model is not to be had in another runtime's format.

    model = Model(FOLDER); model.vector(ids) -> the pooled vector, of length 1
"""
import json
import math
import pathlib

import numpy
from safetensors.numpy import load_file


def normalized(x, weight, bias, epsilon):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / numpy.sqrt((centred ** 2).mean(axis=-1, keepdims=True) + epsilon) * weight + bias


erf = numpy.vectorize(math.erf, otypes=[numpy.float64])


def error_function(x):
    """Abramowitz and Stegun 7.1.26 is not exact enough; the true one is slow: interpolated from a fine table."""
    return numpy.interp(x, error_function.places, error_function.values)


error_function.places = numpy.linspace(-6, 6, 1200001)
error_function.values = erf(error_function.places)


class Model:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.config = json.loads((folder / "config.json").read_text())
        pooling = folder / "1_Pooling" / "config.json"
        self.cls = pooling.exists() and json.loads(pooling.read_text()).get("pooling_mode_cls_token", False)
        tensors = load_file(str(folder / "model.safetensors"))
        self.tensors = {name.removeprefix("bert.").removeprefix("roberta."): value for name, value in tensors.items()}
        roberta = self.config.get("model_type") in ("roberta", "xlm-roberta")
        self.first_position = self.config.get("pad_token_id", 1) + 1 if roberta else 0
        self.epsilon = self.config.get("layer_norm_eps", 1e-12)

    def get(self, name):
        return self.tensors[name].astype(numpy.float64)

    def linear(self, name, x):
        return x @ self.get(name + ".weight").T + self.get(name + ".bias")

    def norm(self, name, x):
        return normalized(x, self.get(name + ".weight"), self.get(name + ".bias"), self.epsilon)

    def attention(self, prefix, x):
        heads, count = self.config["num_attention_heads"], x.shape[0]
        query, key, value = (self.linear(prefix + "self." + part, x).reshape(count, heads, -1).transpose(1, 0, 2)
                             for part in ("query", "key", "value"))
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
        weights = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return self.linear(prefix + "output.dense", (weights @ value).transpose(1, 0, 2).reshape(count, -1))

    def hidden(self, ids):
        rows = slice(self.first_position, self.first_position + len(ids))
        x = (self.tensors["embeddings.word_embeddings.weight"][ids].astype(numpy.float64)
             + self.get("embeddings.position_embeddings.weight")[rows]
             + self.get("embeddings.token_type_embeddings.weight")[0])
        x = self.norm("embeddings.LayerNorm", x)
        for layer in range(self.config["num_hidden_layers"]):
            prefix = "encoder.layer.%d." % layer
            x = self.norm(prefix + "attention.output.LayerNorm", x + self.attention(prefix + "attention.", x))
            wide = self.linear(prefix + "intermediate.dense", x)
            wide = wide * 0.5 * (1 + error_function(wide / math.sqrt(2)))
            x = self.norm(prefix + "output.LayerNorm", x + self.linear(prefix + "output.dense", wide))
        return x

    def vector(self, ids):
        x = self.hidden(ids)
        pooled = x[0] if self.cls else x.mean(axis=0)
        return pooled / numpy.linalg.norm(pooled)
