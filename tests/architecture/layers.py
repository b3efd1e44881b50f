"""Import contract as data: layers from top to bottom, and the layers that may import each large library."""

from __future__ import annotations

LAYERS: tuple[tuple[str, ...], ...] = (
    ("cli",),
    ("serve",),
    ("integrations",),
    ("export",),
    ("probes",),
    ("rankers",),
    ("yardsticks",),
    ("train",),
    ("scorers",),
    ("fusion",),
    ("evaluate",),
    ("indexing",),
    ("search",),
    ("explain",),
    ("engine",),
    ("encode", "filters"),
    ("models", "index"),
    ("translation",),
    ("collection",),
    ("text", "attributes"),
    ("storage",),
    ("weights", "vectors"),
    ("settings", "parallel", "validation", "budget", "compilation"),
    ("records",),
    ("errors",),
    ("fixes",),
    ("display", "kernels", "progress"),
    ("_version", "lazy_names", "fast_dataclass"),
)
"""Folders and top-level modules. Each may import from lower rows only."""

LIBRARIES: dict[str, set[str]] = {
    "torch": {"train", "yardsticks"},
    "transformers": {"train", "yardsticks"},
    "safetensors": {"train", "yardsticks"},
    "sentence_transformers": {"train", "yardsticks"},
    "accelerate": {"train", "yardsticks"},
    "onnx": {"train"},
    "onnxruntime": {"encode"},
    "spacy": {"text"},
    "py3langid": {"text"},
    "simplemma": {"text"},
    "jieba": {"text"},
    "fugashi": {"text"},
    "unidic_lite": {"text"},
    "ot": {"yardsticks"},
    "lightgbm": {"yardsticks"},
    "usearch": {"index"},
    "pyarrow": {"collection", "encode", "export", "integrations"},
    "markdown_it": {"collection"},
    "duckdb": {"export"},
    "pyterrier": {"integrations"},
    "pandas": {"integrations"},
    "sklearn": {"integrations"},
    "mteb": {"integrations"},
    "ray": {"integrations"},
    "pyspark": {"integrations"},
    "qdrant_client": {"export"},
    "qdrant_edge": {"export"},
    "pymilvus": {"export"},
    "starlette": {"serve"},
    "uvicorn": {"serve"},
    "jiter": {"serve"},
    "pydantic": {"serve", "integrations"},
    "prometheus_client": {"serve"},
    "mcp": {"serve"},
    "langchain_core": {"integrations"},
    "llama_index": {"integrations"},
    "haystack": {"integrations"},
}
"""Large libraries, and the layers that may import each."""

INSIDE_FUNCTIONS = (
    "onnxruntime",
    "spacy",
    "py3langid",
    "simplemma",
    "jieba",
    "fugashi",
    "ot",
    "lightgbm",
    "usearch",
    "pyarrow",
    "markdown_it",
    "mteb",
)
"""Libraries that are imported inside functions only."""

QUERY_SIDE = {
    "termwise.models.count_query_encoder",
    "termwise.models.base",
    "termwise.models.attachments",
    "termwise.models.idf_power",
}
"""Modules of `models` that `engine`, `explain` and `search` may import."""

PROBES_WITHOUT_RANKERS = ("core", "report", "language", "axioms", "behaviour", "manipulations", "sources")
"""Folders of `probes` that import no rankers and no indexing, and of `scorers` the protocol and fingerprints only."""

ON_REQUEST = {
    "termwise.train.neural_model1": {
        "cli/train_neural_model1.py",
        "train/__init__.py",
        "yardsticks/rerankers/bert_model1.py",
    },
    "termwise.yardsticks": {
        "cli/learn_trees.py",
        "cli/train_reranker.py",
        "rankers/from_name.py",
    },
}
"""Packages that only these files import, because of the patent notice in NOTICE; outside `yardsticks` and `train`,
inside functions."""
