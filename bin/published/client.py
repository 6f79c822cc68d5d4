"""Generates the typed Python client of the API from docs/openapi.json, with a receiver of its webhooks."""

import json
import os
import sys
import tempfile
from pathlib import Path

from openapi_python_client.cli import app

from published.openapi import FILE

PACKAGE = "loyalty_client"
# Files are returned to callers unchanged.
SETTINGS = f"""
project_name_override: {PACKAGE.replace("_", "-")}
package_name_override: {PACKAGE}
post_hooks:
- {sys.executable} -m ruff check --fix-only --quiet --select F,I .
- {sys.executable} -m ruff format --quiet .
content_type_overrides:
  image/png: application/octet-stream
  image/svg+xml: application/octet-stream
  application/vnd.apple.pkpass: application/octet-stream
  application/vnd.openxmlformats-officedocument.spreadsheetml.sheet: application/octet-stream
  text/csv: application/octet-stream
"""

RECEIVER = '''"""Receives webhooks: verifies who sent a message, and gives it its type."""

from collections.abc import Mapping

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from . import models

__all__ = ["UnknownWebhook", "WebhookMessage", "WebhookVerificationError", "receive"]

WebhookMessage = {union}
MESSAGES: dict[str, type[WebhookMessage]] = {{
{messages}
}}


class UnknownWebhook(Exception):
    """A type that came after this client was generated. Answer 204, as for any message that you do not need."""


def receive(secret: str, body: bytes, headers: Mapping[str, str]) -> WebhookMessage:
    """The message of a call, verified with the webhook's secret (`whsec_...`). `body` is the request's as it came.

    The same message may come twice: keep the `webhook-id` of what you have handled. Raises WebhookVerificationError if
    the signature is not the service's or is older than five minutes, and UnknownWebhook.
    """
    message = Webhook(secret).verify(body, {{name.lower(): value for name, value in headers.items()}})
    if message["type"] not in MESSAGES:
        raise UnknownWebhook(message["type"])
    return MESSAGES[message["type"]].from_dict(message)
'''


def generate(to: Path) -> None:
    """Write the package and its pyproject.toml into the directory. Raises SystemExit if anything was left out."""
    with tempfile.TemporaryDirectory() as directory:
        settings = Path(directory) / "settings.yaml"
        settings.write_text(SETTINGS)
        where = ["--path", str(FILE), "--output-path", str(to), "--overwrite", "--config", str(settings)]
        # The generator looks up its hooks by their first word only.
        os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        app(["generate", *where, "--fail-on-warning"], standalone_mode=False)
    add_receiver(to)


def add_receiver(to: Path) -> None:
    """Write the package's `webhooks` module, which the generator leaves out."""
    names = {
        kind: hook["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        for kind, hook in json.loads(FILE.read_text())["webhooks"].items()
    }
    receiver = RECEIVER.format(
        union="(\n    " + "\n    | ".join(f"models.{name}" for name in names.values()) + "\n)",
        messages="\n".join(f'    "{kind}": models.{name},' for kind, name in names.items()),
    )
    (to / PACKAGE / "webhooks.py").write_text(receiver)
    project = to / "pyproject.toml"
    dependencies = "[tool.poetry.dependencies]\n"
    project.write_text(project.read_text().replace(dependencies, f'{dependencies}standardwebhooks = "^1.0"\n'))


if __name__ == "__main__":
    generate(Path(sys.argv[1]))
    print(f"Generated: {sys.argv[1]}; install it with pip install {sys.argv[1]}")
