"""The files of `deploy`, checked by the programs that read them, where these are installed, and by rules where not."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
import yaml

from termwise.cli.main import app

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"


def _run(program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program, or skip the test and say what was not checked."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed, so the file that it reads was not checked by it")
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def _instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile as name and arguments."""
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines)]


def _of(name: str) -> list[str]:
    return [rest for each, rest in _instructions() if each == name]


def _check_serve(arguments: Sequence[str]) -> None:
    """Check that the command line accepts the arguments of ``termwise``."""
    verb, *rest = arguments
    assert verb == "serve"
    command = app.get_command(None, "serve")
    assert command is not None
    command.make_context("serve", list(rest))


def test_the_image_has_pinned_bases_and_no_root() -> None:
    assert all(re.fullmatch(r"python:3\.11\.\d+-slim-bookworm( AS \w+)?", base) for base in _of("FROM"))
    assert len(_of("FROM")) == 2
    (user,) = _of("USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    names = [name for name, _ in _instructions()]
    assert "ADD" not in names
    assert names.index("USER") > max(at for at, name in enumerate(names) if name in ("RUN", "COPY"))
    for rest in [*_of("RUN"), *_of("CMD"), *_of("ENTRYPOINT")]:  # no shell
        assert all(isinstance(part, str) for part in json.loads(rest))
    _check_serve(json.loads(_of("CMD")[0]))


def test_the_image_is_built_from_files_that_are_there() -> None:
    admitted = {
        line.removeprefix("!")
        for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    copied = {source for rest in _of("COPY") if not rest.startswith("--from") for source in rest.split()[:-1]}
    assert copied == admitted
    assert all((ROOT / source).exists() for source in copied)
    project = (ROOT / "pyproject.toml").read_text()
    for named in ("README.md", "LICENSE", "NOTICE", "LICENSES"):
        assert named in project


def test_the_check_of_health_fails_if_the_service_does() -> None:
    class Healthy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/health" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    (check,) = _of("HEALTHCHECK")
    interpreter, *arguments = json.loads(check[check.index("[") :])
    assert interpreter == "python"
    server = HTTPServer(("127.0.0.1", 0), Healthy)
    Thread(target=server.serve_forever, daemon=True).start()

    def code() -> int:
        given = [each.replace(":8000/", f":{server.server_port}/") for each in arguments]
        return subprocess.run([sys.executable, *given], capture_output=True, timeout=60).returncode

    assert code() == 0
    server.shutdown()
    server.server_close()
    assert code() != 0


def test_the_compose_file_limits_the_service() -> None:
    (service,) = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"].values()
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    _check_serve(service["command"])


def test_the_compose_file_is_valid() -> None:
    checked = _run("docker-compose", "-f", DEPLOY / "compose.yaml", "config", "--quiet")
    assert checked.returncode == 0, checked.stderr


def _unit(folder: Path) -> Path:
    """Return the unit with a program that is installed."""
    text = (DEPLOY / "termwise.service").read_text()
    (line,) = re.findall("^ExecStart=(.*)$", text, re.MULTILINE)
    program, *arguments = shlex.split(line)
    _check_serve(arguments)
    unit = folder / "termwise.service"
    unit.write_text(text.replace(program, "/bin/true"))
    return unit


def test_the_unit_is_valid_and_hardened(tmp_path: Path) -> None:
    unit = _unit(tmp_path)
    verified = _run("systemd-analyze", "verify", "--man=no", unit)
    assert (verified.returncode, verified.stderr) == (0, "")
    rated = _run("systemd-analyze", "security", "--offline=yes", "--no-pager", unit)
    exposure = re.search(r"exposure level for termwise.service: ([\d.]+)", rated.stdout)
    assert exposure is not None, rated.stdout + rated.stderr
    assert float(exposure[1]) <= 1.5  # of 10


def test_the_proxy_configurations_are_valid(tmp_path: Path) -> None:
    checked = _run("caddy", "validate", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile")
    assert checked.returncode == 0, checked.stderr
    certificate, key = tmp_path / "fullchain.pem", tmp_path / "privkey.pem"
    made = _run(
        *(
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "1",
            "-subj",
            "/CN=search.example.com",
        ),
        *("-keyout", key, "-out", certificate),
    )
    assert made.returncode == 0, made.stderr
    text = (DEPLOY / "nginx.conf").read_text()
    (tmp_path / "site.conf").write_text(
        text.replace("/etc/letsencrypt/live/search.example.com", str(tmp_path))
    )
    (tmp_path / "main.conf").write_text(
        f"pid {tmp_path}/pid; events {{}} http {{ access_log off; include {tmp_path}/site.conf; }}"
    )
    checked = _run("nginx", "-t", "-e", tmp_path / "errors", "-p", tmp_path, "-c", tmp_path / "main.conf")
    assert checked.returncode == 0, checked.stderr
