"""Facts about a served index: size, model, attributes, and damages of its files."""

from __future__ import annotations

from typing import Any

from termwise.index import verify
from termwise.search import MixtureSearcher
from termwise.search.by_example import AnySearcher
from termwise.search.mixture import verify_mixture
from termwise.search.mixture_folder import is_mixture
from termwise.serve.answers import IndexAnswer
from termwise.serve.indexes import ServedIndex, generation


def index_facts(served: ServedIndex) -> IndexAnswer:
    """Return the facts about an index that a user of the service needs."""
    searcher = served.searcher()
    facts: IndexAnswer = {
        "index": served.name,
        "generation": generation(searcher),
        "documents": searcher.index.documents,
        "model": "",
        "attributes": {name: str(kind) for name, kind in searcher.schema.items()},
        "stores_text": searcher.index.stores_text,
    }
    if isinstance(searcher, MixtureSearcher):
        facts["model"] = searcher.formula
        facts["parts"] = [
            {"name": part.name, "weight": part.weight, **_sizes(part.searcher.index)}
            for part in searcher.parts
        ]
    else:
        (facts["model"],) = model_names(searcher)
        facts["parts"] = [{"name": facts["model"], "weight": 1.0, **_sizes(searcher.index)}]
    return facts


def model_names(searcher: AnySearcher) -> list[str]:
    """Return the name of the model of an index, or the names of those of a mixture."""
    searchers = (
        [part.searcher for part in searcher.parts] if isinstance(searcher, MixtureSearcher) else [searcher]
    )
    return [each.index.manifest.encoder.model.name or "unknown" for each in searchers]


def _sizes(index: Any) -> dict[str, Any]:
    manifest, analyzer = index.manifest, index.manifest.encoder.analyzer
    return {
        "terms": manifest.terms,
        "postings": manifest.postings,
        "segments": len(manifest.segments),
        "deleted": sum(segment.deletions for segment in manifest.segments),
        "analyzer": "unknown" if analyzer is None else analyzer.name,
    }


def damages(served: ServedIndex) -> list[str]:
    """Return the damages of the files of an index, each with the name of the file."""
    found = verify_mixture(served.path) if is_mixture(served.path) else verify(served.path)
    return [f"{damage.file}: {damage.what}" for damage in found]
