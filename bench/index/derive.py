#!/usr/bin/env python3
"""Makes many vectors out of fewer real ones: the real ones themselves, then mixtures w * a + (1 - w) * b of a real vector
with one of its 16 nearest, w from 0.5 to 1, plus Gaussian noise of length 0.2, of length 1 again; all in random order,
so that the first n are a sample of the whole. They lie where real ones do, but closer together.

usage: derive.py REAL.f32 OUTPUT.f32 ROWS [DIMENSION]"""
import os
import sys

import faiss
import numpy

NEIGHBOURS, NOISE, BATCH = 16, 0.2, 20000


def neighbours(real):
    index = faiss.IndexFlatIP(real.shape[1])
    index.add(real)
    near = numpy.empty((len(real), NEIGHBOURS), dtype=numpy.int64)
    for first in range(0, len(real), 4096):
        near[first : first + 4096] = index.search(real[first : first + 4096], NEIGHBOURS + 1)[1][:, 1:]
    return near


def mixtures(real, near, count, random):
    one = random.integers(len(real), size=count)
    other = near[one, random.integers(NEIGHBOURS, size=count)]
    weight = random.uniform(0.5, 1, size=(count, 1)).astype("f4")
    noise = random.standard_normal((count, real.shape[1]), dtype="f4") * (NOISE / real.shape[1] ** 0.5)
    mixed = weight * real[one] + (1 - weight) * real[other] + noise
    return mixed / numpy.linalg.norm(mixed, axis=1, keepdims=True)


def main():
    source, output, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
    dimension = int(sys.argv[4]) if len(sys.argv) > 4 else 384
    random = numpy.random.default_rng(1)
    real = numpy.fromfile(source, dtype="<f4").reshape(-1, dimension)[:rows]
    near = neighbours(real)
    places = random.permutation(rows)
    made = numpy.memmap(output + ".partial", dtype="<f4", mode="w+", shape=(rows, dimension))
    made[places[: len(real)]] = real
    for first in range(len(real), rows, BATCH):
        some = places[first : first + BATCH]
        made[some] = mixtures(real, near, len(some), random)
    made.flush()
    os.rename(output + ".partial", output)
    print(f"{rows} vectors, {len(real)} of them real")


main()
