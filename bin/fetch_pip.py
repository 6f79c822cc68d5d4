"""Installs pip into the environment that runs this file, if Debian's python3-venv and its ensurepip are missing."""

import hashlib
import os
import re
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

WHEEL = "pip-26.3-py3-none-any.whl"
SHA256 = "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"


def fetch(url: str) -> bytes:
    # A bare system has no CA certificates either. The SHA256 above decides what is accepted.
    unchecked = ssl.create_default_context()
    unchecked.check_hostname = False
    unchecked.verify_mode = ssl.CERT_NONE
    with urlopen(url, timeout=60, context=unchecked) as answer:  # noqa: S310 - the configured package index
        return bytes(answer.read())


def main() -> None:
    index = os.environ.get("PIP_INDEX_URL") or "https://pypi.org/simple"
    page = f"{index.rstrip('/')}/pip/"
    link = re.search(rf'href="([^"#]*{re.escape(WHEEL)})', fetch(page).decode())
    if not link:
        sys.exit(f"{page} does not offer {WHEEL}")
    content = fetch(urljoin(page, link[1]))
    if hashlib.sha256(content).hexdigest() != SHA256:
        sys.exit(f"{page} sends a {WHEEL} with another content than expected")
    with tempfile.TemporaryDirectory() as directory:
        wheel = Path(directory) / WHEEL
        wheel.write_bytes(content)
        # pip can run from inside its own wheel.
        pip = [sys.executable, f"{wheel}/pip", "install", "--quiet", "--no-index", "--root-user-action=ignore"]
        subprocess.run([*pip, str(wheel)], check=True)


if __name__ == "__main__":
    try:
        main()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"bin/fetch_pip.py: {error}")
