"""The tables of SciDocs on forty invented papers in the files of the data set."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from scipy.stats import ttest_rel
from tests.unit.experiments.conftest import EXPERIMENTS, WORDS

from termwise.collection import read_qrels
from termwise.collection.training_pairs import read_sources
from termwise.errors import MalformedRecordError, MissingFileError

PAPERS, QUERIES = 40, 20


@pytest.fixture
def scidocs(tmp_path):
    """Return a folder in the layout of SciDocs: a relevant paper has the words of the query."""
    import scidocs

    random = np.random.default_rng(3)
    folder = tmp_path / "published"
    bodies = [" ".join(random.choice(WORDS, size=8)) for _ in range(PAPERS)]
    papers = {
        f"p{place}": {"title": WORDS[place % 12], "abstract": text} for place, text in enumerate(bodies)
    }
    for place in range(QUERIES):
        papers[f"p{PAPERS - 1 - place}"]["abstract"] += f" {bodies[place]}"
    papers["p5"]["abstract"] = None
    papers["empty"] = {"title": None, "abstract": ""}
    folder.mkdir()
    (folder / scidocs.PAPERS).write_text(json.dumps(papers))
    for task in scidocs.TASKS:
        (folder / task).mkdir()
        for part, asked in (("val", range(12)), ("test", range(12, QUERIES))):
            lines = [f"p0 0 empty {int(part == 'test')}"]
            for place in asked:
                others = [one for one in random.permutation(PAPERS).tolist() if one != PAPERS - 1 - place]
                lines += [f"p{place} 0 p{PAPERS - 1 - place} 1"]
                lines += [f"p{place} 0 p{one} 0" for one in others[:5] if one != place]
            (folder / task / f"{part}.qrel").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def study(tmp_path, encoders, pieces, scidocs):
    import study

    models = tmp_path / "models"
    models.mkdir()
    (models / "scibert-vocabulary.txt").write_text("\n".join(pieces) + "\n")
    plan = (EXPERIMENTS / "by_example" / "scidocs.toml").read_text()
    short = re.sub('expansion_terms = "[0-9]+"', 'expansion_terms = "2"', plan)
    (tmp_path / "plan.toml").write_text(re.sub('length = "[0-9]+"', 'length = "20"', short))

    def run(*more):
        given = [str(tmp_path / "plan.toml"), "--work", str(tmp_path / "work"), "--threads", "1"]
        given += ["--data", str(scidocs), "--out", str(tmp_path / "out"), "--models", str(models)]
        given += ["--network", f"tilde-scibert@cite={encoders['tilde']}"]
        for name in ("tildev2-scibert", "tildev2-scibert-expanded"):
            given += ["--network", f"{name}={encoders['tildev2']}"]
        study.main([*given, *more])
        return json.loads((tmp_path / "out" / "scidocs.json").read_text())

    return run


def test_the_tables_of_the_paper(study, tmp_path):
    found = study("--only", "coview,cite")
    assert set(found["networks"]) == {
        "tilde-scibert@cite",
        "tildev2-scibert",
        "tildev2-scibert-expanded",
    }
    coview, cite = (found["collections"][name] for name in ("coview", "cite"))
    assert coview["measures"] == ["AP", "nDCG"]
    assert coview["queries"] == QUERIES - 12
    assert coview["documents"] == PAPERS, "all tasks share an index of all papers"
    assert coview["rows"]["tilde-scibert"]["not run"] == "no network tilde-scibert was named"
    assert coview["rows"]["cross-encoder-mtft"]["not run"] == "no network cross-encoder-mtft was named"
    blank = {name for name, row in cite["rows"].items() if "not run" in row}
    assert all("bert" in name or "m" in name for name in blank)
    assert not blank & {"bm25-scibert-token", "tilde-scibert", "tildev2-scibert-m200", "bm25+tilde-scibert"}
    assert cite["rows"]["bm25-stm2"]["measures"]["AP"] > 0.8
    chosen = cite["rows"]["bm25+tilde-scibert"]["chosen"]
    assert [(part["reported"], part["choosing"]) for part in chosen] == [(8, 2)]
    page = (tmp_path / "out" / "scidocs.md").read_text()
    assert "| – cross-encoder, MTFT-SciBERT: no network cross-encoder-mtft was named | .9420 .976 |" in page


def test_the_oracle_is_compared_with_its_systems(study):
    cite = study("--only", "cite")["collections"]["cite"]
    for measure in ("AP", "nDCG"):
        found = [entry["measures"][measure]["over"] for entry in cite["shares"].values()]
        assert [set(one) for one in found] == [
            {"bm25-stm2", "tilde-scibert"},
            {"bm25-stm2", "tildev2-scibert"},
        ]
        for entry in cite["shares"].values():
            values = entry["measures"][measure]
            best = [values["oracle, each"][query_id] for query_id in cite["query_ids"]]
            for name, one in values["over"].items():
                own = cite["rows"][name]["values"][measure]
                assert one["difference"] == pytest.approx(np.mean(best) - np.mean(own), abs=1e-5)
                if one["p_t"] is not None:
                    assert one["p_t"] == pytest.approx(ttest_rel(best, own).pvalue, abs=1e-5)
                    assert one["p_t_bonferroni"] == pytest.approx(min(1, 4 * one["p_t"]), abs=1e-5)
                    assert one["exceeds"] == (one["p_t_bonferroni"] < 0.05)


def test_queries_are_divided(scidocs, tmp_path):
    from scidocs import convert

    out = tmp_path / "scidocs"
    convert(scidocs, out)
    parts = {part: read_qrels(out / "qrels" / f"cite-{part}.tsv") for part in ("train", "dev", "test")}
    asked = {part: {qrel.query_id for qrel in qrels} for part, qrels in parts.items()}
    assert {part: len(queries) for part, queries in asked.items()} == {"train": 10, "dev": 2, "test": 8}
    assert len(set.union(*asked.values())) == QUERIES
    assert "empty" not in {qrel.doc_id for qrels in parts.values() for qrel in qrels}
    (source,) = read_sources(out / "pairs" / "cite" / "train")
    relevant = [qrel for qrel in parts["train"] if qrel.relevance > 0]
    assert len(source) == len(relevant)
    (held_out,) = read_sources(out / "pairs" / "cite" / "validation")
    assert not set(source.queries) & set(held_out.queries)
    before = (out / "qrels" / "cite-dev.tsv").read_bytes()
    convert(scidocs, out)
    assert (out / "qrels" / "cite-dev.tsv").read_bytes() == before


def test_incomplete_data_are_refused(scidocs, tmp_path):
    from scidocs import PAPERS, convert

    (scidocs / PAPERS).write_text('{"p1": {"title": "one"}}')
    with pytest.raises(MalformedRecordError, match="papers of SciDocs"):
        convert(scidocs, tmp_path / "out")
    (scidocs / PAPERS).unlink()
    (scidocs / "cite" / "val.qrel").unlink()
    with pytest.raises(MissingFileError) as error:
        convert(scidocs, tmp_path / "out")
    assert [name for name, _ in error.value.facts] == ["missing"] * 2
