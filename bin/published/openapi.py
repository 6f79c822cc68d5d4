"""Writes docs/openapi.json: the API's description, generated from the code."""

import json
import os
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent.parent.parent / "docs/openapi.json"


def made() -> dict[str, Any]:
    """The description, as `/api/schema` serves it."""
    import django  # noqa: PLC0415 - the settings are read here

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from drf_spectacular.generators import SchemaGenerator  # noqa: PLC0415 - needs the settings

    result: dict[str, Any] = json.loads(json.dumps(SchemaGenerator().get_schema(request=None, public=True)))
    return result


def text(description: dict[str, Any]) -> str:
    return json.dumps(description, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(made()))
    print(f"Written: {FILE}")
