#!/usr/bin/env python3
"""The pipeline that ibid is measured against: the usual Python parts with the same model.

usage: python_pipeline.py FOLDER MODEL_FOLDER
needs: sentence-transformers langchain-text-splitters chromadb pypdf python-docx beautifulsoup4"""
import pathlib
import shutil
import sys
import tempfile
import time

import chromadb
from bs4 import BeautifulSoup
from docx import Document
from langchain_text_splitters import SentenceTransformersTokenTextSplitter
from pypdf import PdfReader
from sentence_transformers import SentenceTransformer

folder, model_folder = pathlib.Path(sys.argv[1]), sys.argv[2]


def read(path):
    if path.suffix == ".pdf":
        return "\n".join(page.extract_text() for page in PdfReader(path).pages)
    if path.suffix == ".docx":
        return "\n".join(paragraph.text for paragraph in Document(path).paragraphs)
    if path.suffix == ".html":
        return BeautifulSoup(path.read_text(), "html.parser").get_text("\n")
    return path.read_text()


model = SentenceTransformer(model_folder, device="cpu")
splitter = SentenceTransformersTokenTextSplitter(model_name=model_folder, tokens_per_chunk=256, chunk_overlap=25)
store_folder = tempfile.mkdtemp()
collection = chromadb.PersistentClient(store_folder).create_collection("bench")

started = time.monotonic()
documents = chunks = 0
embedding = 0.0
batch_ids, batch_texts = [], []


def flush():
    global batch_ids, batch_texts, embedding
    if batch_ids:
        before = time.monotonic()
        vectors = model.encode(batch_texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
        embedding += time.monotonic() - before
        collection.add(ids=batch_ids, embeddings=vectors.tolist(), documents=batch_texts)
    batch_ids, batch_texts = [], []


for path in sorted(p for p in folder.rglob("*") if p.is_file()):
    for i, text in enumerate(splitter.split_text(read(path))):
        batch_ids.append(f"{path}#{i}")
        batch_texts.append(text)
        chunks += 1
    documents += 1
    if len(batch_ids) >= 512:
        flush()
flush()
seconds = time.monotonic() - started
shutil.rmtree(store_folder, ignore_errors=True)
print(f"python: {documents} documents in {seconds:.1f} s = {documents / seconds:.1f} documents/s "
      f"({chunks} chunks, {embedding:.1f} s of it embedding)")
