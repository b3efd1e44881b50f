"""docTquery: questions that a T5 generates for each document, appended before BM25 indexes it.

Nogueira & Lin, *From doc2query to docTTTTTquery*, 2019: samples from the 10 likeliest tokens at each step. The number
of questions determines the cost; the authors append 40.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import record

from termwise.collection import Collection
from termwise.records import Document

BATCH = 16


class QuestionMaker:
    """Question generator: a sequence-to-sequence network of transformers in a local folder.

    Parameters
    ----------
    folder : Path
        Folder of the network and its tokenizer, such as doc2query-t5-base-msmarco.
    questions : int
        Number of questions per document.
    threads : int
        Threads of torch.
    """

    def __init__(self, folder: Path, *, questions: int = 40, threads: int = 1) -> None:
        transformers: Any = record.need("transformers", "transformers", "docTquery")
        self._torch: Any = record.need("torch", "torch", "docTquery")
        self._torch.set_num_threads(threads)
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        network = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder, local_files_only=True)
        self._network = network.eval()
        self.questions = questions
        weights = [*folder.glob("*.safetensors"), *folder.glob("*.bin")]
        self.fingerprint = f"{questions} {record.tree_hash(weights, folder)}"

    def ask(self, texts: list[str], seed: int) -> list[list[str]]:
        """Return the questions of each text."""
        self._torch.manual_seed(seed)
        given = self._tokenizer(texts, return_tensors="pt", padding=True, truncation=True, max_length=512)
        with self._torch.inference_mode():
            made = self._network.generate(
                input_ids=given["input_ids"],
                attention_mask=given["attention_mask"],
                max_new_tokens=64,
                do_sample=True,
                top_k=10,
                num_return_sequences=self.questions,
            )
        asked = self._tokenizer.batch_decode(made, skip_special_tokens=True)
        return [asked[first : first + self.questions] for first in range(0, len(asked), self.questions)]


@dataclass(frozen=True)
class Questions:
    """Generated questions by document id."""

    by_document: dict[str, list[str]]

    @classmethod
    def made(cls, documents: Collection, maker: QuestionMaker, work: Path) -> Questions:
        """Generate the questions of all documents, or resume; the file has one line per document in their order."""
        work.mkdir(parents=True, exist_ok=True)
        path = work / f"questions-{hashlib.sha256(maker.fingerprint.encode()).hexdigest()[:12]}.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        known = [json.loads(line) for line in lines if line.endswith("}")]
        path.write_text(
            "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in known), encoding="utf-8"
        )
        rest = islice(documents.documents(), len(known), None)
        done = len(known)
        with path.open("a", encoding="utf-8") as file:
            while batch := list(islice(rest, BATCH)):
                asked = maker.ask([document.text for document in batch], seed=done)
                for document, questions in zip(batch, asked, strict=True):
                    entry = {"_id": document.doc_id, "questions": questions}
                    file.write(json.dumps(entry, ensure_ascii=False) + "\n")
                    known.append(entry)
                done += len(batch)
                file.flush()
                if done // BATCH % 20 == 0:
                    record.say(f"  questions for {done:,} of {documents.length or '?'} documents")
        return cls({entry["_id"]: entry["questions"] for entry in known})


@dataclass(frozen=True)
class Expanded:
    """Collection whose documents end with their questions."""

    collection: Collection
    questions: Questions

    @property
    def name(self) -> str:
        """Name of the collection."""
        return self.collection.name

    @property
    def length(self) -> int | None:
        """Number of documents; None if it is not known."""
        return self.collection.length

    def documents(self) -> Iterator[Document]:
        """Yield the documents."""
        for document in self.collection.documents():
            asked = self.questions.by_document[document.doc_id]
            yield Document(document.doc_id, " ".join([document.text, *asked]))
