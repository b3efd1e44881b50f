"""Encoding on a cluster of Spark with executors as processes of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.unit.integrations.collections_of_parts import content, write_parts
from tests.unit.integrations.processes import descendants, kill, wait_for

import termwise
from termwise.encode.block_file import block_files
from termwise.encode.row_table import row_files
from termwise.indexing import encode_parts

pytest.importorskip("pyspark", reason="pip install 'termwise[spark]'")


def java_home() -> Path | None:
    """Return the folder of a Java that has the module that Spark needs; a shortened runtime may lack it."""
    found = shutil.which("java")
    homes = [os.environ.get("JAVA_HOME"), found and Path(found).resolve().parent.parent]
    for home in map(Path, filter(None, homes)):
        listed = subprocess.run([home / "bin" / "java", "--list-modules"], capture_output=True, text=True)
        if "jdk.incubator.vector" in listed.stdout:
            return home
    return None


HOME = java_home()

pytestmark = pytest.mark.skipif(
    HOME is None, reason="Spark needs a Java of version 17 or newer with the module jdk.incubator.vector"
)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    return write_parts(tmp_path_factory.mktemp("collection") / "parts", parts=6, documents=10)


@pytest.fixture(scope="module")
def of_one_machine(parts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows") / "local"
    encode_parts(parts, folder, model="tilde")
    return folder


def environment(master):
    work = Path(tempfile.gettempdir()) / "spark-work"  # otherwise in the folder of the installed package
    options = [f"--master {master}", "--driver-memory 512m"]
    options += [f"--conf spark.{name}" for name in ("executor.memory=512m", "ui.enabled=false")]
    return {
        **os.environ,
        "JAVA_HOME": str(HOME),
        "SPARK_WORKER_DIR": str(work),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": " ".join([*options, "pyspark-shell"]),
    }


def encode(master, parts, folder):
    """Start the command with a master for new sessions."""
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "termwise", "encode", str(parts), "--model", "tilde"),
            *("--encoding", str(folder), "--on", "spark", "--json"),
        ],
        env=environment(master),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(command):
    """Wait for the end of the command, and check what it says."""
    out, err = command.communicate(timeout=600)
    assert command.returncode == 0, err
    assert '"documents": 60, "blocks": 6, "share": 6, "left": 0' in out


def test_the_files_are_those_of_one_machine(parts, of_one_machine, tmp_path):
    finish(encode("local[2]", parts, tmp_path / "rows"))
    assert content(tmp_path / "rows") == content(of_one_machine)


@pytest.mark.slow
def test_an_executor_is_killed_and_the_files_are_those_of_one_machine(parts, of_one_machine, tmp_path):
    folder = tmp_path / "rows"
    command = encode("local-cluster[2,1,1024]", parts, folder)
    wait_for(lambda: row_files(folder) or command.poll() is not None, 600)
    executors = [pid for pid, line in descendants(command.pid).items() if "CoarseGrainedExecutor" in line]
    kill(executors[0])
    assert len(row_files(folder)) < 6
    finish(command)
    assert content(folder) == content(of_one_machine)


@pytest.mark.slow
def test_records_of_a_data_frame_are_encoded(parts, tmp_path):
    """The rows of a data frame are found by the digests of the texts, whatever their files and their order are."""
    script = """
import sys
import tempfile
from termwise.integrations.spark import encode_frame, open_session

if __name__ == "__main__":
    spark = open_session()
    lines = spark.read.json(sys.argv[1] + "/*.jsonl")
    records = lines.unionByName(spark.read.parquet(sys.argv[1] + "/*.parquet"))
    encode_frame(records, model="tilde").write.parquet(sys.argv[2])
    spark.stop()
"""
    rows = tmp_path / "rows"
    subprocess.run(
        [sys.executable, "-c", script, str(parts), str(rows)], env=environment("local[2]"), check=True
    )
    options = termwise.BuildOptions(encoding=rows)
    termwise.build_index(parts, tmp_path / "rows.tw", model="tilde", options=options)
    assert not block_files(rows)
    termwise.build_index(parts, tmp_path / "whole.tw", model="tilde")
    assert content(tmp_path / "rows.tw") == content(tmp_path / "whole.tw")
