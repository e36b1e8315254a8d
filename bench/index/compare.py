#!/usr/bin/env python3
"""ibid's own index beside FAISS (flat, and RaBitQ fast-scan with the best candidates rescored) and sqlite-vec: the same
vectors, queries and filters, one thread, one run. Prints Markdown tables. See bench/index/run.

usage: compare.py BENCH_INDEX FOLDER    (FOLDER is made by bench/index/prepare; indexes are built in it)

Times are CPU time of the searching thread. ibid's hold the reading of the filter and the selection; FAISS gets its
bitmap of passing rows made beforehand. Recall is that of the 10 best against an exact scan of what passes."""
import json
import os
import platform
import shutil
import subprocess
import sys
import time

import faiss
import numpy

# name, what passes in the filter language, limit of `size`, share of the rows
CELLS = (("100 %", "", None, 1), ("10 %", "size<100000", 100000, 0.1), ("1 %", "size<10000", 10000, 0.01),
         ("0.1 %", "size<1000", 1000, 0.001))
DIMENSION, K, CANDIDATES, JUDGED = 384, 10, 200, 200
SIZES = (10000, 100000, 1000000)


def sizes(rows):
    """What bench/index/index.c gives each row as `size`."""
    with numpy.errstate(over="ignore"):
        value = numpy.arange(rows, dtype=numpy.uint64) + numpy.uint64(77)
        value = (value ^ value >> numpy.uint64(30)) * numpy.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ value >> numpy.uint64(27)) * numpy.uint64(0x94D049BB133111EB)
        return (value ^ value >> numpy.uint64(31)) % numpy.uint64(1000000)


def timed(search, queries, truth):
    """95th percentile in milliseconds, and recall."""
    times, hits, possible = [], 0, 0
    for query, expected in zip(queries, truth):
        start = time.thread_time()
        found = search(query)
        times.append((time.thread_time() - start) * 1000)
        expected = {int(row) for row in expected if row >= 0}
        hits += len(set(map(int, found)) & expected)
        possible += len(expected)
    times.sort()
    return times[int((len(times) - 1) * 0.95)], hits / possible


def row(name, *values):
    print("| " + " | ".join([name, *values]) + " |", flush=True)


def heading(title, *columns):
    print(f"\n### {title}\n")
    row(*columns)
    print("|" + "---|" * len(columns), flush=True)


def cell(result):
    p95, recall = result
    return f"{p95:.2f} ({recall:.4f})"


def selector(passing):
    return faiss.IDSelectorBitmap(numpy.packbits(passing, bitorder="little"))


# ---- the peers: each gives one result a cell, None where it cannot ----


def flat(data):
    index = faiss.IndexFlatIP(DIMENSION)
    index.add(data.vectors)
    for name, _, limit, _ in CELLS:
        passing = selector(data.passing(limit))
        params = faiss.SearchParameters(sel=passing) if limit else None
        yield timed(lambda q: index.search(q[None], K, params=params)[1][0], data.queries[:50], data.truth[name])


def rabitq(data):
    """It has no filter inside the search: what does not pass is thrown away after it, so that it has to find as many
    more as the filter is narrow."""
    index = faiss.IndexRaBitQFastScan(DIMENSION, faiss.METRIC_INNER_PRODUCT)
    index.train(data.vectors[:65536])
    index.add(data.vectors)
    for name, _, limit, share in CELLS:
        passing = data.passing(limit)
        wanted = int(CANDIDATES / share)
        if wanted > 20000 or wanted > len(data.vectors):
            yield None
            continue

        def search(query):
            ids = index.search(query[None], wanted)[1][0]
            ids = ids[ids >= 0]
            ids = ids[passing[ids]]
            return ids[numpy.argsort(-(data.vectors[ids] @ query), kind="stable")[:K]]

        yield timed(search, data.queries[:100], data.truth[name])


def sqlite_vec(data):
    import pysqlite3 as sqlite3  # Python's own may be built without extensions
    import sqlite_vec as extension

    database = sqlite3.connect(":memory:")
    database.enable_load_extension(True)
    extension.load(database)
    database.execute(f"CREATE VIRTUAL TABLE v USING vec0(size INTEGER, e FLOAT[{DIMENSION}] distance_metric=cosine)")
    with database:
        database.executemany("INSERT INTO v(rowid, size, e) VALUES (?, ?, ?)",
                             ((i, int(data.size[i]), data.vectors[i].tobytes()) for i in range(len(data.vectors))))
    for name, _, limit, _ in CELLS:
        where = f" AND size < {limit}" if limit else ""
        statement = f"SELECT rowid FROM v WHERE e MATCH ? AND k = {K}{where}"
        yield timed(lambda q: [found[0] for found in database.execute(statement, (q.tobytes(),))], data.queries[:20],
                    data.truth[name])


PEERS = (("FAISS flat, f32", flat), (f"FAISS RaBitQ fast-scan, {CANDIDATES} rescored, filtered afterwards", rabitq),
         ("sqlite-vec", sqlite_vec))


class Data:
    """Vectors, queries, and the exact answers in each cell."""

    def __init__(self, folder, name, rows=None):
        self.vectors = numpy.memmap(f"{folder}/{name}", dtype="<f4", mode="r").reshape(-1, DIMENSION)[:rows]
        self.queries = numpy.fromfile(f"{folder}/queries.f32", dtype="<f4").reshape(-1, DIMENSION)[:500]
        self.size = sizes(len(self.vectors))
        exact = faiss.IndexFlatIP(DIMENSION)
        exact.add(self.vectors)
        self.truth = {
            name: exact.search(self.queries[:JUDGED], K,
                               params=faiss.SearchParameters(sel=selector(self.passing(limit))))[1]
            for name, _, limit, _ in CELLS
        }

    def passing(self, limit):
        return self.size < (limit or 10**9)


# ---- ibid ----


def ours(program, folder, name, rows):
    """Builds in one process, opens and searches in another."""
    index = f"{folder}/index-{name}-{rows}"
    arguments = [program, "--vectors", f"{folder}/{name}", "--queries", f"{folder}/queries.f32", "--texts",
                 f"{folder}/texts", "--keywords", f"{folder}/texts.queries", "--folder", index, "--rows", str(rows),
                 "--recall", "--rounds", "2"]
    shutil.rmtree(index, ignore_errors=True)
    lines = []
    for more in (["--build"], []):
        output = subprocess.run(arguments + more, stdout=subprocess.PIPE, check=True, text=True).stdout
        lines += map(json.loads, output.splitlines())
    shutil.rmtree(index)
    result = {"vector": {}, "keyword": {}}
    for line in lines:
        if "side" in line:
            result[line["side"]][line["cell"]] = line
        else:
            result |= line
    return result


def compare(program, folder, name, title):
    data = Data(folder, name)
    mine = ours(program, folder, name, len(data.vectors))
    heading(f"{title}: 95th percentile in ms (recall@10)", "index", *(c[0] for c in CELLS))
    row("**ibid**", *(cell((mine["vector"][c[0]]["p95_ms"], mine["vector"][c[0]]["recall"])) for c in CELLS))
    for peer, search in PEERS:
        row(peer, *("-" if result is None else cell(result) for result in search(data)))
    return mine


def grown(results):
    heading("From 10,000 to 1,000,000 rows: ibid", "rows", *(f"{rows:,}" for rows in results))
    lines = (
        ("vector search, p95 ms", lambda r: f"{r['vector']['100 %']['p95_ms']:.2f}"),
        ("vector search, 1 % passes, p95 ms", lambda r: f"{r['vector']['1 %']['p95_ms']:.2f}"),
        ("keyword search, p95 ms", lambda r: f"{r['keyword']['100 %']['p95_ms']:.2f}"),
        ("keyword search, 1 % passes, p95 ms", lambda r: f"{r['keyword']['1 %']['p95_ms']:.2f}"),
        ("opening, ms", lambda r: f"{r['open_ms']:.1f}"),
        ("opening to the first answer by vector and by word, ms", lambda r: f"{r['first_keyword_answer_ms']:.1f}"),
        ("memory beyond mapped files, opened, MB", lambda r: f"{r['anonymous_mb']:.1f}"),
        ("the same after all searches, MB", lambda r: f"{r['anonymous_mb'] + r['anonymous_mb_after_searches']:.1f}"),
        ("on disk, MB", lambda r: f"{r['disk_mb']:.0f}"),
        ("built in, s of CPU", lambda r: f"{r['build_cpu_s']:.1f}"),
        ("memory of building, MB", lambda r: f"{r['build_anonymous_mb']:.0f}"),
    )
    for name, value in lines:
        row(name, *(value(result) for result in results.values()))


def words(mine):
    heading("Keyword search at 1,000,000 rows, 3 to 8 terms: ms", "", *(c[0] for c in CELLS))
    for name, key in (("median", "p50_ms"), ("95th percentile", "p95_ms")):
        row(name, *(f"{mine['keyword'][c[0]][key]:.2f}" for c in CELLS))


def other_cells(mine):
    heading("Vector search at 1,000,000 rows, other selections: ms", "selection", "rows", "median", "95th percentile",
            "recall@10")
    for name, found in mine["vector"].items():
        if name not in {c[0] for c in CELLS}:
            row(name, f"{found['selected']:,}", f"{found['p50_ms']:.2f}", f"{found['p95_ms']:.2f}",
                f"{found['recall']:.4f}")


def main():
    program, folder = sys.argv[1:3]
    faiss.omp_set_num_threads(1)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, one thread each; load "
          f"{os.getloadavg()[0]:.2f} at the start; FAISS {faiss.__version__}; {JUDGED} queries judged")
    real = numpy.memmap(f"{folder}/real.f32", dtype="<f4", mode="r").size // DIMENSION
    compare(program, folder, "real.f32", f"Vector search over {real:,} real vectors of {DIMENSION} dimensions")
    most = SIZES[-1]
    million = compare(program, folder, "million.f32", f"Vector search over {most:,} vectors made out of them")
    other_cells(million)
    words(million)
    results = {rows: ours(program, folder, "million.f32", rows) for rows in SIZES[:-1]}
    grown(results | {most: million})


main()
