"""Constant weights for `fuse_indexes` that correspond to a fusion of runs.

==================  ============================================================================================
normalisation       factor of the scores of an index
==================  ============================================================================================
``raw``             its weight w
``global``          w / deviation of the runs of the training data; the mean is the same for all documents and
                    is left out
``query-length``    w, if all runs have it: the divisor is the same for all documents of a query, so
                    the ranking does not depend on it
``z``, ``minmax``   none: they depend on the results of each query
``idf``             none: it depends on an index that the fusion does not name
==================  ============================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence

from termwise.errors import ParameterError
from termwise.fixes import Fix
from termwise.fusion.scaling import Scaling
from termwise.fusion.weights_file import Fusion, check_order
from termwise.index import Index

_WHY: dict[Scaling, str] = {
    "z": "its mean and deviation are those of the results of each query",
    "minmax": "its minimum and maximum are those of the results of each query",
    "idf": "its divisor differs between queries and between indexes",
    "query-length": "its divisor differs between queries, and must be the same for all indexes",
    "global": "the weights were not learned, so the deviations are not known",
}


def index_weights(fusion: Fusion, indexes: Sequence[Index]) -> tuple[float, ...]:
    """Return the weights for indexes that correspond to a fusion of their runs.

    Parameters
    ----------
    fusion : Fusion
        Weights for runs of these indexes. Its rule for missing documents is not used, because the indexes hold the
        same documents.
    indexes : sequence of Index
        One per run, in their order.

    Returns
    -------
    tuple of float
        One per index, for `fuse_indexes`.

    Raises
    ------
    ParameterError
        If a normalisation differs between queries, the indexes are not those of the runs in their order, or an index
        does not have the settings that its weight was tuned with.

    Examples
    --------
    >>> index_weights(Fusion(["bm25", "model1"], [0.25, 0.75], missing="zero", scaling="z"), [])
    Traceback (most recent call last):
    termwise.errors.ParameterError: an index cannot hold this normalisation  [parameter]
      run            bm25
      normalisation  z
      why            its mean and deviation are those of the results of each query
      fix            normalise at search time: `mix_indexes(weights=[0.25, 0.75])`
          or         choose weights for `scaling='raw'`, or learn them for `scaling='global'`
    """
    counting = [number for number, weight in enumerate(fusion.weights) if weight != 0]
    lengths = all(fusion.scaling[number] == "query-length" for number in counting)
    deviations = fusion.learned.deviations if fusion.learned else (None,) * len(fusion.runs)
    divisors = [1.0] * len(fusion.runs)
    for number in counting:
        scaling, deviation = fusion.scaling[number], deviations[number]
        if scaling == "global" and deviation is not None:
            divisors[number] = deviation
        elif scaling != "raw" and not (scaling == "query-length" and lengths):
            raise ParameterError(
                "an index cannot hold this normalisation",
                facts=[("run", fusion.runs[number]), ("normalisation", scaling), ("why", _WHY[scaling])],
                fixes=[
                    Fix.sentence(
                        "normalise at search time: {}", Fix.call("mix_indexes", weights=list(fusion.weights))
                    )
                    if scaling == "z"
                    else "fuse runs",
                    Fix.sentence(
                        "choose weights for {}, or learn them for {}",
                        Fix.use(scaling="raw"),
                        Fix.use(scaling="global"),
                    ),
                ],
            )
    check_order(fusion, [index.path.name.removesuffix(".tw") for index in indexes])
    check_settings(fusion, indexes)
    # If all scores of a run are equal, `global` makes them 0.
    return tuple(
        weight / divisor if divisor else 0.0 for weight, divisor in zip(fusion.weights, divisors, strict=True)
    )


def check_settings(fusion: Fusion, indexes: Sequence[Index]) -> None:
    """Raise `ParameterError` if an index lacks the settings that its weight, other than 0, was tuned with."""
    for index, weight, tuned, table in zip(
        indexes, fusion.weights, fusion.settings, fusion.tables, strict=True
    ):
        described = index.manifest.encoder
        built, compiled = described.model.parameters, described.table
        differences = [
            (name, f"{built.get(name, 'none')}, tuned {tuned[name]}")
            for name in tuned
            if name not in built or built[name] != tuned[name]
        ]
        if table is not None and (compiled is None or compiled.id != table.id):
            name = "none" if compiled is None else compiled.name
            differences.append(("table", f"{name}, tuned with {table.name}"))
        if weight != 0 and differences:
            built_with = {"model": "model1" if table is None else table.name, **tuned}
            raise ParameterError(
                "an index does not have the settings that its weight was tuned with",
                facts=[("index", index.path), ("model", described.model.name or "unknown"), *differences],
                fixes=[
                    Fix.sentence("build it with these settings: {}", Fix.call("build_index", **built_with))
                ],
            )
