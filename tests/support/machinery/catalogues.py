"""The portal's catalogues, read with bin/catalogues, which bin/messages runs."""

import importlib
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
LANGUAGES = ("de", "ar")


def tool(name: str) -> Any:
    """A module of bin/."""
    if str(ROOT / "bin") not in sys.path:
        sys.path.append(str(ROOT / "bin"))
    return importlib.import_module(name)


def translations(language: str) -> dict[str, str]:
    """The texts of the portal's catalogue without plural and context, with their translations."""
    main = tool("catalogues.__main__")
    entries = tool("catalogues.po").read(main.path_of(language)).values()
    return {each.key.message: each.forms[0] for each in entries if not each.plural and not each.key.context}
