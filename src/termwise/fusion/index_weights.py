"""What an index can hold of a fusion: one number for each part, the same for every query.

==================  ============================================================================================
scaling             the scores of a part are multiplied by
==================  ============================================================================================
``raw``             its weight w
``global``          w / deviation, that of the runs the weights were learned on; the mean is the same for all
                    documents and queries, and is left out
``query-length``    w, where all parts have this scaling: what they are divided by is the same for all documents
                    of a query, so that no order depends on it; scores are as many times larger
``z``, ``minmax``   nothing: they depend on what is found for a query
``idf``             nothing: which index its words are counted in is said beside each run, not in the fusion
==================  ============================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence

from termwise.errors import ParameterError
from termwise.fusion.scaling import Scaling
from termwise.fusion.weights_file import Fusion, check_order
from termwise.index import Index

_WHY: dict[Scaling, str] = {
    "z": "its mean and deviation are those of the results of each query",
    "minmax": "its minimum and maximum are those of the results of each query",
    "idf": "it divides by a number of each query, and two parts seldom have the same",
    "query-length": "it divides by a number of each query, which is the same only if all parts have this scaling",
    "global": "the weights were not learned, so it is not known what to divide by",
}


def index_weights(fusion: Fusion, indexes: Sequence[Index]) -> tuple[float, ...]:
    """Return the weights with which indexes add up to what a fusion makes of their runs.

    Parameters
    ----------
    fusion : Fusion
        Weights for runs of these indexes. What it says of missing documents does not count: indexes of the same
        documents miss none.
    indexes : sequence of Index
        One for each run, in their order.

    Returns
    -------
    tuple of float
        One for each index, for `fuse_indexes`.

    Raises
    ------
    ParameterError
        If a scaling changes from query to query; if there is another number of indexes, or the folder of one is named
        as the run of another is; or if an index was not built with the settings that its weight was tuned with.

    Examples
    --------
    >>> index_weights(Fusion(["bm25", "model1"], [0.25, 0.75], missing="zero", scaling="z"), [])
    Traceback (most recent call last):
    termwise.errors.ParameterError: an index cannot hold this scaling  [parameter]
      run      bm25
      scaling  z
      why      its mean and deviation are those of the results of each query
      fix      choose weights for another scaling: --normalise raw, or --learn METHOD --normalise global
          or   fuse runs: termwise search DIR --queries FILE --output RUN, then termwise fuse RUN RUN
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
            raise _varying(fusion.runs[number], scaling)
    check_order(fusion, [index.path.name.removesuffix(".tw") for index in indexes])
    for number in counting:
        _check_settings(fusion, number, indexes[number])
    # Where all scores of a run are equal, `global` makes them 0.
    return tuple(
        weight / divisor if divisor else 0.0 for weight, divisor in zip(fusion.weights, divisors, strict=True)
    )


def _varying(run: str, scaling: Scaling) -> ParameterError:
    return ParameterError(
        "an index cannot hold this scaling",
        facts=[("run", run), ("scaling", scaling), ("why", _WHY[scaling])],
        fixes=[
            "choose weights for another scaling: --normalise raw, or --learn METHOD --normalise global",
            "fuse runs: termwise search DIR --queries FILE --output RUN, then termwise fuse RUN RUN",
        ],
    )


def _check_settings(fusion: Fusion, number: int, index: Index) -> None:
    model = index.manifest.encoder.get("model", {})
    built = model.get("parameters", {})
    tuned, table = fusion.settings[number], fusion.tables[number]
    unlike = [
        (name, f"{built.get(name, 'none')}, tuned {tuned[name]}")
        for name in tuned
        if name not in built or built[name] != tuned[name]
    ]
    compiled = index.manifest.encoder.get("table", {})
    if table is not None and compiled.get("id") != table.id:
        unlike.append(("table", f"{compiled.get('name', 'none')}, tuned with {table.name}"))
    if unlike:
        raise ParameterError(
            "an index was not built with the settings that its weight was tuned with",
            facts=[
                ("index", index.path),
                ("model", model.get("name", "unknown")),
                *unlike,
            ],
            fixes=[
                "build it with them: termwise index COLLECTION "
                f"--model {'model1' if table is None else table.name} --settings FILE --out DIR"
            ],
        )
