"""`BuildOptions`: how `build_index` computes and stores the weights of an index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from termwise.collection.fields import checked_id_field
from termwise.encode import DocumentEncoder
from termwise.encode.encoder_manifest import NetworkPrecision
from termwise.fast_dataclass import dataclass
from termwise.index.writer import DEFAULT_MEMORY
from termwise.progress import Progress, Say, log_line, no_progress
from termwise.validation import check, check_flag, check_memory, check_path, check_threads


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """Options of `build_index` that few builds need.

    Attributes
    ----------
    id_field : str, optional
        Field with the identifier of each record, such as ``sku``. By default the first of ``_id``, ``id``, ``doc_id``,
        ``docid`` and ``docno`` that a record has.
    threads : int
        Threads to use; the files do not depend on it. With more than one, the same number of processes analyses a large
        collection; a script then needs ``if __name__ == "__main__":``.
    memory : int
        Working memory in bytes for sorting postings; see `IndexWriter`.
    progress : callable
        Called with a stage, the number of items done, and the total or None.
    say : callable
        Called with the roles of fields that were decided, and with what is left out, one line each; by default, the
        logger ``termwise`` gets them as warnings.
    quantiser : {"uint8", "float32"}, optional
        See `IndexWriter`. By default ``uint8``; for the exact form of TILDE ``float32``, the only one that preserves
        its order.
    reorder : bool
        Number documents internally so that similar ones are neighbours: search is faster, results are the same.
    html : bool
        Index and store the plain text of HTML: entities become characters, and tags are removed. So are those of
        documents that are added later; see `termwise.text.html_text`. Attributes that are texts, too, become plain.
    encoder : DocumentEncoder, optional
        Runs the network of the model; by default opened from the model. An encoder that was made from a folder must
        be the one that the model names, with the same settings.
    encoding : str or Path, optional
        Folder for finished blocks of encoded documents, from which an interrupted build resumes. It is kept, so that
        later builds encode only new texts, and must lie outside of any index. By default it is the path of the index
        with ``.encoding`` appended, and is removed once the index is published. With a translation table, a given
        folder keeps the term counts of documents, for builds with other settings or with another table of the same
        analyzer.
    statistics : str or Path, optional
        ``statistics.json`` of the encoded rows of a whole collection, of which this index holds a part: weights that
        are multiplied by an idf then have the idf of the whole collection, the same in the indexes of all parts.
    precision : {"float32", "int8"}, optional
        Precision of the network; see `termwise.encode.onnx_session.choose_precision`.
    providers : sequence of str, optional
        Execution providers of onnxruntime in order of preference, such as ``cuda``.

    Raises
    ------
    ParameterError
        If a value has the wrong type, or is out of range.

    Examples
    --------
    >>> import tempfile, termwise
    >>> documents = [termwise.Document("a", "merge two sorted lists")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     options = termwise.BuildOptions(quantiser="float32")
    ...     searcher = termwise.build_index(documents, folder, options=options)
    >>> searcher.index.manifest.quantiser.kind
    'float32'
    """

    id_field: str | None = None
    threads: int = 1
    memory: int = DEFAULT_MEMORY
    progress: Progress = no_progress
    say: Say = log_line
    quantiser: Literal["uint8", "float32"] | None = None
    reorder: bool = True
    html: bool = False
    encoder: DocumentEncoder | None = None
    encoding: str | Path | None = None
    statistics: str | Path | None = None
    precision: NetworkPrecision | None = None
    providers: Sequence[str] | None = None

    def __post_init__(self) -> None:
        checked_id_field(self.id_field)
        check_threads(self.threads)
        check_memory(self.memory)
        check(
            "quantiser", self.quantiser, self.quantiser in (None, "uint8", "float32"), "'uint8' or 'float32'"
        )
        check_flag("reorder", self.reorder)
        check_flag("html", self.html)
        if self.encoding is not None:
            check_path("encoding", self.encoding)
        if self.statistics is not None:
            check_path("statistics", self.statistics)

    def of_network(self) -> dict[str, object]:
        """Return the options that only a network uses, by name; None for those that are not given."""
        return {
            "encoder": self.encoder,
            "precision": self.precision,
            "providers": self.providers,
            "statistics": self.statistics,
        }


DEFAULT_OPTIONS = BuildOptions()
