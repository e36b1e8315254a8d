#!/usr/bin/env python3
"""Makes a folder of mixed documents (text, Markdown, HTML, PDF, DOCX) out of a BEIR-layout corpus or
of this machine's documentation, the same for the same arguments.

usage: make_folder.py FOLDER [--documents 500] [--sections 6] [--corpus CORPUS.jsonl]     (needs reportlab, python-docx)"""
import argparse
import glob
import gzip
import html
import json
import pathlib

from docx import Document
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate

WRITERS = {}


def writer(suffix):
    def register(function):
        WRITERS[suffix] = function
        return function
    return register


@writer("txt")
def write_text(path, title, sections):
    path.write_text(title + "\n\n" + "\n\n".join(f"{h}\n\n{t}" for h, t in sections) + "\n")


@writer("md")
def write_markdown(path, title, sections):
    path.write_text(f"# {title}\n\n" + "\n\n".join(f"## {h}\n\n{t}" for h, t in sections) + "\n")


@writer("html")
def write_html(path, title, sections):
    body = "".join(f"<h2>{html.escape(h)}</h2><p>{html.escape(t)}</p>" for h, t in sections)
    path.write_text(f"<!DOCTYPE html><html><head><meta charset=utf-8><title>{html.escape(title)}</title></head>"
                    f"<body><h1>{html.escape(title)}</h1>{body}</body></html>")


@writer("docx")
def write_docx(path, title, sections):
    document = Document()
    document.core_properties.title = title
    document.add_heading(title, 0)
    for heading, text in sections:
        document.add_heading(heading, 1)
        document.add_paragraph(text)
    document.save(path)


@writer("pdf")
def write_pdf(path, title, sections):
    styles = getSampleStyleSheet()
    flow = [Paragraph(html.escape(title), styles["Title"])]
    for heading, text in sections:
        flow += [Paragraph(html.escape(heading), styles["Heading1"]), Paragraph(html.escape(text), styles["BodyText"])]
    SimpleDocTemplate(str(path), pagesize=A4, title=title, invariant=1).build(flow)


def paragraphs(corpus):
    if corpus:
        for line in open(corpus):
            record = json.loads(line)
            yield (record.get("title") or record["text"][:40]).strip() or "Untitled", record["text"].strip()
        return
    for name in sorted(glob.glob("/usr/share/doc/**/*", recursive=True)):
        if not name.endswith((".gz", "README", "NEWS", ".txt", ".md")) or not pathlib.Path(name).is_file():
            continue
        opener = gzip.open if name.endswith(".gz") else open
        try:
            text = opener(name, "rt", errors="ignore").read(20000)
        except OSError:
            continue
        for part in text.split("\n\n"):
            part = " ".join(part.split())
            if 200 < len(part) < 3000:
                yield part[:40], part


parser = argparse.ArgumentParser()
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--documents", type=int, default=500)
parser.add_argument("--sections", type=int, default=6, help="in each document")
parser.add_argument("--corpus")
arguments = parser.parse_args()
source = list(paragraphs(arguments.corpus))
suffixes = list(WRITERS)
for number in range(arguments.documents):
    sections = [source[(number * (arguments.sections + 1) + i) % len(source)] for i in range(arguments.sections)]
    suffix = suffixes[number % len(suffixes)]
    target = arguments.folder / f"{number // 100:03d}" / f"document-{number:05d}.{suffix}"
    target.parent.mkdir(parents=True, exist_ok=True)
    WRITERS[suffix](target, f"Document {number}: {sections[0][0]}", sections)
print(f"{arguments.documents} documents of {arguments.sections} sections")
