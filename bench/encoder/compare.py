#!/usr/bin/env python3
"""The local encoder and ONNX Runtime f32, in turns on this machine, as a table.

Both run one thread a core with whole sequences of one length, without tokenizer and without padding. ONNX
Runtime runs one session with one thread for each core, in batches of 1, 8 and 32, of which the best counts.
Rates are per second of the threads' CPU time (what the clock would say were nothing else running), the best
of the rounds.

usage: python3 -m venv V && V/bin/pip install onnxruntime numpy
       V/bin/python bench/encoder/compare.py BENCH_PROGRAM MODEL_FOLDER ONNX_FILE [ROUNDS]
"""
import json
import os
import subprocess
import sys
import threading
import time

import numpy
import onnxruntime

LENGTHS = (32, 128, 256)


def onnx_worker(session, tokens, batch, seconds, rates):
    ids = (1000 + numpy.arange(tokens * batch, dtype=numpy.int64) * 7919 % 20000).reshape(batch, tokens)
    feed = {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)}
    session.run(None, feed)
    done, start = 0, time.thread_time()
    while time.thread_time() - start < seconds:
        session.run(None, feed)
        done += batch
    rates.append(done / (time.thread_time() - start))


def onnx_rate(sessions, tokens, batch, seconds=1.0):
    rates = []
    threads = [threading.Thread(target=onnx_worker, args=(session, tokens, batch, seconds, rates)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(rates)


def main():
    program, folder, onnx = sys.argv[1:4]
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    cores = len(os.sched_getaffinity(0))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    sessions = [onnxruntime.InferenceSession(onnx, options, providers=["CPUExecutionProvider"]) for _ in range(cores)]
    ours, peaks, theirs, single = {}, {}, {}, 0
    for _ in range(rounds):
        lines = subprocess.run([program, folder, "1"], stdout=subprocess.PIPE, check=True, text=True).stdout
        for row in map(json.loads, lines.splitlines()):
            if "peak" in row:
                peaks[row["peak"]] = max(peaks.get(row["peak"], 0), row["gflops_per_core"])
                continue
            key = row["kernel"], row["tokens"], row["threads"] > 1 or row["sequences_per_pass"] > 1
            if key not in ours or ours[key]["undisturbed"] < row["undisturbed"]:
                ours[key] = row
        for tokens in LENGTHS:
            for batch in (1, 8, 32):
                theirs[tokens] = max(theirs.get(tokens, 0), onnx_rate(sessions, tokens, batch))
        single = max(single, onnx_rate(sessions[:1], 32, 1))
    print("cores: %d, peak per core (Gflop/s): %s" % (cores, peaks))
    print("%-14s" % "sequences/s" + "".join("%22d tokens" % tokens for tokens in LENGTHS) + "   32 tokens, one thread (ms)")
    print("%-14s" % "ONNX Runtime" + "".join("%29.1f" % theirs[tokens] for tokens in LENGTHS) + "%20.2f" % (1e3 / single))
    for kernel in ("portable", "avx2", "avx512", "avx512_bf16"):
        cells = ""
        for tokens in LENGTHS:
            row = ours.get((kernel, tokens, True))
            if not row:
                break
            peak = peaks.get(kernel, 0) * cores
            share = " %2.0f%%" % (100 * row["gflops"] / peak) if peak else "    "
            cells += "%13.1f %5.2fx %4.0f%s" % (row["undisturbed"], row["undisturbed"] / theirs[tokens], row["gflops"], share)
        if cells:
            print("%-14s" % kernel + cells + "%20.2f" % (1e3 / ours[kernel, 32, False]["undisturbed"]))
    print("(rate, times ONNX Runtime, Gflop/s, share of the peak)")


main()
