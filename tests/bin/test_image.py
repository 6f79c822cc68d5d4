"""The image is built and started where Docker runs; elsewhere the steps of the Dockerfile run in a directory."""

import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import httpx
import pytest

from tests.support.live_stack import NO_TLS, ROOT, free_port, wait_until

DOCKERFILE = (ROOT / "Dockerfile").read_text()
PRODUCTION = {
    "SECRET_KEY": "x" * 50,
    "CODE_TAG_SECRETS": "1:" + "y" * 50,
    "STORAGE_SECRETS": "1:" + "z" * 50,
    "DATABASE_URL": "postgres://nobody:x@127.0.0.1:1/none",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "ALLOWED_HOSTS": "localhost",
    "HTTPS": "0",
}
# What root does to the image's system, and a directory does not need.
SYSTEM_COMMANDS = ("apt-get", "groupadd")


def docker_runs():
    return (
        shutil.which("docker") and subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0
    )


def answers(port):
    try:
        return (
            httpx.get(f"http://127.0.0.1:{port}/healthz", headers={"host": "localhost"}, verify=NO_TLS).status_code
            == 200
        )
    except httpx.TransportError:
        return False


@pytest.mark.skipif(not docker_runs(), reason="no Docker engine")
def test_image_is_built_and_answers():
    name, port = f"loyalty-test-{uuid.uuid4().hex[:8]}", free_port()
    subprocess.run(["docker", "build", "--quiet", "--tag", name, str(ROOT)], check=True)
    environment = [word for setting, value in PRODUCTION.items() for word in ("--env", f"{setting}={value}")]
    writable = "/tmp:mode=1777"  # noqa: S108 - of the container
    options = ["--read-only", "--tmpfs", writable, "--cap-drop", "ALL", "--publish", f"127.0.0.1:{port}:8000"]
    try:
        subprocess.run(["docker", "run", "--detach", "--name", name, *options, *environment, name], check=True)
        wait_until(lambda: answers(port))
    finally:
        subprocess.run(["docker", "rm", "--force", name], check=False)
        subprocess.run(["docker", "rmi", "--force", name], check=False)


def instructions():
    """`(keyword, arguments)` of each instruction, with its continued lines joined."""
    text = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", DOCKERFILE, flags=re.MULTILINE))
    return [tuple(line.split(maxsplit=1)) for line in text.splitlines() if line.strip()]


class Directory:
    """Stands for the image's file system, whose paths begin at `root` instead of at /."""

    def __init__(self, root):
        self.root = root
        self.environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(root)}
        self.workdir = root
        self.command = ""

    def inside(self, text):
        return re.sub(r"(?<![\w.:/])/(build|opt/venv|app|data|tmp/metrics)\b", rf"{self.root}/\1", text)

    def apply(self, keyword, arguments):
        if keyword == "ENV":
            self.environment |= {
                name: self.inside(value).replace("$PATH", self.environment["PATH"])
                for name, value in re.findall(r"(\w+)=(\S+)", arguments)
            }
        elif keyword == "WORKDIR":
            self.workdir = Path(self.inside(arguments))
            self.workdir.mkdir(parents=True)
        elif keyword == "COPY" and not arguments.startswith("--from"):
            self.copy(*arguments.split())
        elif keyword == "RUN" and not arguments.startswith(SYSTEM_COMMANDS):
            self.run(arguments)
        elif keyword == "CMD":
            self.command = arguments

    def copy(self, source, target):
        destination = Path(self.inside(target)) if target.startswith("/") else self.workdir / target
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, destination, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            destination.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / source, destination)

    def run(self, command):
        # Debian keeps pip's installer in python3-venv, which the image has and this machine may lack.
        command = command.replace("-m venv ", "-m venv --without-pip ")
        command = self.inside(command.replace("/opt/venv/bin/pip ", "python3 -m pip --python /opt/venv/bin/python "))
        subprocess.run(
            ["sh", "-ec", command], cwd=self.workdir, env=self.environment, check=True, stdout=subprocess.DEVNULL
        )


@pytest.mark.skipif(bool(docker_runs()), reason="Docker builds the image itself")
def test_steps_of_the_dockerfile_make_a_web_process_that_answers(tmp_path):
    image = Directory(tmp_path)
    for instruction in instructions():
        image.apply(*instruction)
    port = free_port()
    arguments = [str(port) if word == "8000" else word for word in json.loads(image.inside(image.command))]
    (tmp_path / "data").mkdir(exist_ok=True)

    environment = {**image.environment, **PRODUCTION, "PORT": str(port), "PYTHONDONTWRITEBYTECODE": "1"}
    web = subprocess.Popen(arguments, cwd=image.workdir, env=environment, start_new_session=True)
    try:
        wait_until(lambda: answers(port))
        styles = httpx.get(f"http://127.0.0.1:{port}/static/unfold/css/styles.css", headers={"host": "localhost"})
        assert styles.status_code == 200
    finally:
        web.terminate()
        web.wait(timeout=20)
