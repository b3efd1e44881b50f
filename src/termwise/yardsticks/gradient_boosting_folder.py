"""Folder of a ranker of gradient-boosted trees: format, writer and reader.

::

    gradient-boosting.json    manifest: features, analyzers, statistics, files
    model.txt                 trees, in the text format of LightGBM
    statistics.json           document and collection frequencies of each analyzer
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from termwise.collection import CollectionStatistics
from termwise.errors import DataError, ModelFormatError
from termwise.fast_dataclass import dataclass
from termwise.scorers.model_scorers import part_scorers
from termwise.scorers.token_statistics import TokenStatistics
from termwise.search.mixture import Mixture
from termwise.storage.atomic_folder import AtomicFolder
from termwise.storage.file_record import FileRecord
from termwise.storage.manifest_json import (
    Misfit,
    expect_list,
    expect_object,
    expect_objects,
    expect_text,
    expect_whole,
)
from termwise.storage.model_folder import TRAINING, ModelFolders
from termwise.text import analyzer_from_spec
from termwise.text.analyzer_files import AnalyzerRecord, read_analyzer
from termwise.validation import check_path
from termwise.yardsticks.gradient_boosting import GradientBoostingScorer
from termwise.yardsticks.text_features import TextFeatures

NAME, MODEL, STATISTICS = "gradient-boosting.json", "model.txt", "statistics.json"
VERSION = 2

FOLDERS = ModelFolders(
    noun="ranker of boosted trees",
    article="a",
    format="termwise-gradient-boosting",
    version=VERSION,
    repairs=("copy the folder again, or train the ranker again",),
)
FOLDER = AtomicFolder(
    noun="ranker of boosted trees",
    article="a",
    manifest=NAME,
    files=frozenset({NAME, MODEL, STATISTICS, TRAINING}),
    kept=TRAINING,
)

_NUMBERS = {"tokens", "documents", "occurrences", "n_documents", "longest"}


@dataclass(frozen=True, kw_only=True)
class BoostingManifest:
    """Manifest of the folder: the features of the trees, in order, and the digest of the statistics of each analyzer.

    `mixture` is the folder of a mixture whose parts give features, or empty, and `parts` has their fingerprints; both
    are new in version 2. `trained` has facts on the training, free JSON that this package does not read.
    """

    features: tuple[str, ...]
    analyzers: tuple[AnalyzerRecord, ...]
    statistics: tuple[str, ...]
    files: Mapping[str, FileRecord]
    mixture: str = ""
    parts: tuple[str, ...] = ()
    trained: Mapping[str, Any] = field(default_factory=dict)
    version: int = VERSION


def write_gradient_boosting(
    scorer: GradientBoostingScorer,
    out: str | Path,
    *,
    mixture: str | Path | None = None,
    trained: Mapping[str, Any] = {},
) -> None:
    """Write the folder of a ranker atomically; an existing ranker is replaced.

    Parameters
    ----------
    scorer : GradientBoostingScorer
    out : str or Path
    mixture : str or Path, optional
        Folder of the mixture whose parts are those of the features.
    trained : mapping, optional
        JSON-like facts on the training.

    Raises
    ------
    ForeignFolderError
        If `out` contains something else.
    StorageError
        If the folder cannot be written.
    """
    check_path("out", out)
    out = Path(out)
    statistics = scorer.features.statistics
    with FOLDER.stage(out) as stage:
        (stage / MODEL).write_text(scorer.model, encoding="utf-8")
        content = json.dumps([_to_json(counted) for _, counted in statistics])
        (stage / STATISTICS).write_text(content + "\n", encoding="ascii")
        manifest = BoostingManifest(
            features=scorer.features.names,
            analyzers=tuple(AnalyzerRecord.of(analyzer.spec) for analyzer, _ in statistics),
            statistics=tuple(counted.digest for _, counted in statistics),
            files={name: FileRecord.of(stage / name) for name in (MODEL, STATISTICS)},
            mixture="" if mixture is None else str(Path(mixture).resolve()),
            parts=scorer.features.part_fingerprints,
            trained=trained,
        )
        (stage / NAME).write_bytes(FOLDERS.sealed(asdict(manifest)))
        FOLDER.publish(stage, out)


def open_gradient_boosting(
    folder: str | Path, *, name: str | None = None, mixture: str | Path | None = None, threads: int = 1
) -> GradientBoostingScorer:
    """Open the folder of a ranker, and verify its files against the manifest.

    Parameters
    ----------
    folder : str or Path
        Written by `write_gradient_boosting`.
    name : str, optional
        By default the name of the folder.
    mixture : str or Path, optional
        Folder of the mixture of the training, if it was moved.
    threads : int, optional
        Threads of the networks of the mixture.

    Raises
    ------
    MissingFileError
        If there is no such folder, or one of its files or its mixture cannot be read.
    ModelFormatError
        If it contains something else, or features that this version does not compute, or the mixture has changed.
    CorruptModelError
        If a file was changed.
    MissingExtraError
        If LightGBM is not installed.
    """
    check_path("the ranker", folder)
    folder = Path(folder)
    fixes = ["termwise.yardsticks.train_gradient_boosting, then write_gradient_boosting"]
    data = FOLDERS.manifest_bytes(folder / NAME, fixes=fixes)
    manifest = FOLDERS.parsed(data, folder / NAME, _manifest)
    files = {}
    for file in (MODEL, STATISTICS):
        if file not in manifest.files:
            raise FOLDERS.damaged(folder / NAME, f"a file {file}", ", ".join(manifest.files) or "none")
        files[file] = FOLDERS.read_recorded(folder / file, manifest.files[file])
    try:
        values = json.loads(files[STATISTICS])
        expect_whole(len(values), "statistics", len(manifest.analyzers), len(manifest.analyzers))
        statistics = [
            (read_analyzer(FOLDERS, folder, record, analyzer_from_spec), _from_json(value, record))
            for record, value in zip(manifest.analyzers, values, strict=True)
        ]
    except Misfit as misfit:
        raise FOLDERS.damaged(folder / STATISTICS, misfit.expected, misfit.seen) from None
    except (ValueError, TypeError) as error:
        raise FOLDERS.damaged(folder / STATISTICS, "statistics of a collection", error) from None
    place = mixture or manifest.mixture
    parts = part_scorers(Mixture.open(place), threads=threads) if place else []
    features = TextFeatures(statistics, parts)
    if features.part_fingerprints != manifest.parts:
        raise ModelFormatError(
            "this ranker was trained with another mixture",
            facts=[("folder", folder), ("mixture", place), ("mixture of the training", manifest.mixture)],
            fixes=["name the mixture of the training", "train the ranker again"],
        )
    digests = tuple(counted.digest for _, counted in statistics)
    if (features.names, digests) != (manifest.features, manifest.statistics):
        raise ModelFormatError(
            "this ranker was trained on features that this version computes differently",
            facts=[
                ("folder", folder),
                ("features", ", ".join(manifest.features)[:200]),
                ("known here", ", ".join(features.names)[:200]),
            ],
            fixes=FOLDERS.repairs,
        )
    name = name or folder.resolve().name or "gradient-boosting"
    return GradientBoostingScorer(files[MODEL].decode("utf-8"), features, name=name)


def _to_json(statistics: TokenStatistics) -> dict[str, Any]:
    counts = statistics.counts
    return {
        "tokens": list(statistics.tokens),
        "documents": counts.document_frequencies.tolist(),
        "occurrences": counts.collection_frequencies.tolist(),
        "n_documents": counts.n_documents,
        "longest": counts.longest,
    }


def _from_json(value: object, record: AnalyzerRecord) -> TokenStatistics:
    body = expect_object(value, _NUMBERS, "statistics")
    occurrences = np.array(body["occurrences"], dtype=np.int64)
    try:
        counts = CollectionStatistics(
            body["n_documents"],
            int(occurrences.sum()),
            np.array(body["documents"], dtype=np.int64),
            occurrences,
            body["longest"],
        )
    except DataError as error:
        raise Misfit("consistent counts", error.message) from None
    expect_whole(len(body["tokens"]), "tokens", counts.n_terms, counts.n_terms)
    return TokenStatistics(tuple(body["tokens"]), counts, record.fingerprint)


def _manifest(body: Mapping[str, Any]) -> BoostingManifest:
    names = {one.name for one in fields(BoostingManifest)}
    if body.get("version") == 1:
        body = {**body, "mixture": "", "parts": []}
    body = expect_object(body, names | {"format", "checksum"}, "manifest")
    expect_objects(body, ("files", "trained"))
    features, analyzers, statistics, parts = (
        expect_list(body[name], name) for name in ("features", "analyzers", "statistics", "parts")
    )
    if not isinstance(body["mixture"], str):
        raise Misfit("a folder or nothing", f"mixture {body['mixture']!r:.80}")
    return BoostingManifest(
        features=tuple(expect_text(one, "a feature") for one in features),
        analyzers=tuple(
            AnalyzerRecord.parse(one, f"analyzers[{position}]") for position, one in enumerate(analyzers)
        ),
        statistics=tuple(expect_text(one, "a digest of statistics") for one in statistics),
        files=FileRecord.parse_all(body["files"]),
        mixture=body["mixture"],
        parts=tuple(expect_text(one, "a fingerprint of a part") for one in parts),
        trained=body["trained"],
        version=expect_whole(body["version"], "version", 1, VERSION),
    )
