"""Encoding on a cluster of Ray with nodes as processes of this machine."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.unit.integrations.collections_of_parts import content, write_parts
from tests.unit.integrations.processes import descendants, kill, wait_for

import termwise
from termwise.encode.block_file import block_files
from termwise.encode.row_table import row_files
from termwise.indexing import encode_parts

ray = pytest.importorskip("ray", reason="pip install 'termwise[ray]'")

MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "object_store_memory": 100 * MEGABYTE, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(2):
        cluster.add_node(num_cpus=1, object_store_memory=100 * MEGABYTE)
    yield cluster
    cluster.shutdown()


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    return write_parts(tmp_path_factory.mktemp("collection") / "parts", parts=6, documents=10)


@pytest.fixture(scope="module")
def of_one_machine(parts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows") / "local"
    encode_parts(parts, folder, model="tilde")
    return folder


def environment(cluster):
    return {**os.environ, "RAY_ADDRESS": cluster.address, "RAY_USAGE_STATS_ENABLED": "0"}


def encode(cluster, parts, folder):
    """Start the command with the cluster of the test."""
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "termwise", "encode", str(parts), "--model", "tilde"),
            *("--encoding", str(folder), "--on", "ray", "--json"),
        ],
        env=environment(cluster),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(command):
    """Wait for the end of the command, and check what it says."""
    out, err = command.communicate(timeout=300)
    assert command.returncode == 0, err
    assert '"documents": 60, "blocks": 6, "share": 6, "left": 0' in out


def workers(node):
    """Return the pids of the actors of a node that encode parts."""
    raylet = node.all_processes["raylet"][0].process.pid
    return [pid for pid, line in descendants(raylet).items() if "_PartWorker" in line or "MapWorker" in line]


def test_a_worker_is_killed_and_the_files_are_those_of_one_machine(cluster, parts, of_one_machine, tmp_path):
    folder = tmp_path / "rows"
    command = encode(cluster, parts, folder)
    wait_for(lambda: any(map(workers, cluster.worker_nodes)) and row_files(folder))
    kill(next(pid for node in cluster.worker_nodes for pid in workers(node)))
    assert len(row_files(folder)) < 6
    finish(command)
    assert content(folder) == content(of_one_machine)


@pytest.mark.slow
def test_a_node_is_killed_and_the_files_are_those_of_one_machine(cluster, parts, of_one_machine, tmp_path):
    folder = tmp_path / "rows"
    node = cluster.add_node(num_cpus=1, object_store_memory=100 * MEGABYTE)
    command = encode(cluster, parts, folder)
    wait_for(lambda: workers(node) and row_files(folder))
    cluster.remove_node(node, allow_graceful=False)
    assert len(row_files(folder)) < 6
    finish(command)
    assert content(folder) == content(of_one_machine)


@pytest.mark.slow
def test_records_of_a_data_set_are_encoded(cluster, parts, of_one_machine, tmp_path):
    """The rows of a data set are found by the digests of the texts, whatever their files and their order are."""
    script = """
import sys
import ray
from termwise.integrations.ray import encode_dataset

if __name__ == "__main__":
    ray.init(log_to_driver=False)
    records = ray.data.read_json(sys.argv[1] + "/*.jsonl").union(ray.data.read_parquet(sys.argv[1] + "/*.parquet"))
    encode_dataset(records, model="tilde").write_parquet(sys.argv[2])
"""
    rows = tmp_path / "rows"
    subprocess.run(
        [sys.executable, "-c", script, str(parts), str(rows)], env=environment(cluster), check=True
    )
    options = termwise.BuildOptions(encoding=rows)
    termwise.build_index(parts, tmp_path / "rows.tw", model="tilde", options=options)
    assert not block_files(rows)
    termwise.build_index(parts, tmp_path / "whole.tw", model="tilde")
    assert content(tmp_path / "rows.tw") == content(tmp_path / "whole.tw")
