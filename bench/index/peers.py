#!/usr/bin/env python3
"""ibid's own index beside FAISS (flat, and RaBitQ fast-scan with the best candidates rescored) and sqlite-vec, on the
same vectors and filters, one thread, in one run, as a table.

usage: python3 -m venv V && V/bin/pip install faiss-cpu sqlite-vec pysqlite3-binary numpy
       V/bin/python bench/index/peers.py BENCH_INDEX VECTORS.f32 QUERIES.f32 TEXTS KEYWORDS FOLDER ROWS [DIMENSION]

Times are CPU time of the thread, so that what else runs on the machine counts less. Recall is that of the 10 best
against an exact scan of what passes the filter."""
import json
import os
import resource
import subprocess
import sys
import time

import faiss
import numpy

CELLS = (("100 %", None), ("10 %", 100000), ("1 %", 10000), ("0.1 %", 1000))
K, CANDIDATES = 10, 200


def sizes(rows):
    """What bench/index/index.c gives each row as `size`."""
    with numpy.errstate(over="ignore"):
        value = numpy.arange(rows, dtype=numpy.uint64) + numpy.uint64(77)
        value = (value ^ value >> numpy.uint64(30)) * numpy.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ value >> numpy.uint64(27)) * numpy.uint64(0x94D049BB133111EB)
        return (value ^ value >> numpy.uint64(31)) % numpy.uint64(1000000)


def timed(search, queries, truth):
    times, hits, possible = [], 0, 0
    for query, expected in zip(queries, truth):
        start = time.thread_time()
        found = search(query)
        times.append((time.thread_time() - start) * 1000)
        expected = {int(row) for row in expected if row >= 0}
        hits += len(set(map(int, found)) & expected)
        possible += len(expected)
    times.sort()
    return times[len(times) // 2], times[int((len(times) - 1) * 0.95)], hits / possible


def show(name, cell, result, build=None):
    p50, p95, recall = result
    built = "" if build is None else f"{build:.1f} s"
    print(f"| {name} | {cell} | {p50:.2f} | {p95:.2f} | {recall:.4f} | {built} |", flush=True)


def selector(passing):
    return faiss.IDSelectorBitmap(numpy.packbits(passing, bitorder="little"))


def flat(vectors, queries, masks, truths):
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    for cell, _ in CELLS:
        sel = selector(masks[cell])
        params = faiss.SearchParameters(sel=sel) if cell != "100 %" else None
        some = queries[:50]
        show("FAISS flat f32", cell, timed(lambda q: index.search(q[None], K, params=params)[1][0], some, truths[cell]))


def rabitq(vectors, queries, masks, truths):
    index = faiss.IndexRaBitQFastScan(vectors.shape[1], faiss.METRIC_INNER_PRODUCT)
    start = time.thread_time()
    index.train(vectors[:65536])
    index.add(vectors)
    build = time.thread_time() - start
    for cell, _ in CELLS:
        params = faiss.SearchParameters(sel=selector(masks[cell])) if cell != "100 %" else None

        def search(query):
            ids = index.search(query[None], CANDIDATES, params=params)[1][0]
            ids = ids[ids >= 0]
            return ids[numpy.argsort(-(vectors[ids] @ query), kind="stable")[:K]]

        try:
            show("FAISS RaBitQ fast-scan, 200 rescored", cell, timed(search, queries, truths[cell]), build)
        except RuntimeError:
            print(f"| FAISS RaBitQ fast-scan, 200 rescored | {cell} | does not filter | | | |")


def sqlite_vec(vectors, queries, size, truths):
    import pysqlite3 as sqlite3  # Python's own may be built without extensions
    import sqlite_vec as extension

    database = sqlite3.connect(":memory:")
    database.enable_load_extension(True)
    extension.load(database)
    dimension = vectors.shape[1]
    database.execute(f"CREATE VIRTUAL TABLE v USING vec0(size INTEGER, e FLOAT[{dimension}] distance_metric=cosine)")
    start = time.thread_time()
    with database:
        database.executemany("INSERT INTO v(rowid, size, e) VALUES (?, ?, ?)",
                             ((i, int(size[i]), vectors[i].tobytes()) for i in range(len(vectors))))
    build = time.thread_time() - start
    for cell, limit in CELLS:
        where = "" if limit is None else f" AND size < {limit}"
        statement = f"SELECT rowid FROM v WHERE e MATCH ? AND k = {K}{where}"
        show("sqlite-vec 0.1.9", cell,
             timed(lambda q: [row[0] for row in database.execute(statement, (q.tobytes(),))], queries[:20],
                   truths[cell]), build)


def ours(program, arguments):
    lines = subprocess.run([program, *arguments, "--recall", "--rounds", "2"], stdout=subprocess.PIPE, check=True,
                           text=True).stdout
    build = None
    for row in map(json.loads, lines.splitlines()):
        build = row.get("build_cpu_s", build)
        if row.get("side") == "vector":
            show("ibid embedded", row["cell"], (row["p50_ms"], row["p95_ms"], row["recall"]), build)


def main():
    program, vector_file, query_file, texts, keywords, folder, rows = sys.argv[1:8]
    dimension = int(sys.argv[8]) if len(sys.argv) > 8 else 384
    faiss.omp_set_num_threads(1)
    vectors = numpy.memmap(vector_file, dtype="<f4", mode="r").reshape(-1, dimension)[: int(rows)]
    queries = numpy.fromfile(query_file, dtype="<f4").reshape(-1, dimension)[:500]
    size = sizes(len(vectors))
    masks = {cell: size < (limit or 10**9) for cell, limit in CELLS}
    exact = faiss.IndexFlatIP(dimension)
    exact.add(vectors)
    truths = {}
    for cell, _ in CELLS:
        sel = selector(masks[cell])
        truths[cell] = exact.search(queries[:200], K, params=faiss.SearchParameters(sel=sel))[1]
    del exact
    print(f"{len(vectors)} x {dimension}, {os.cpu_count()} cores, one thread each\n")
    print("| index | passes the filter | p50 ms | p95 ms | recall@10 | build (CPU) |\n|---|---|---|---|---|---|")
    ours(program, ["--vectors", vector_file, "--queries", query_file, "--texts", texts, "--keywords", keywords,
                   "--folder", folder, "--rows", rows, "--dimension", str(dimension)])
    flat(vectors, queries, masks, truths)
    rabitq(vectors, queries[:200], masks, truths)
    sqlite_vec(vectors, queries, size, truths)
    print(f"\npeak memory of the peers: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


main()
