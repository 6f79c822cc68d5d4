"""A batch always has the attribute `recall`, so `hasattr` would be true of every batch."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
HAS_RECALL = re.compile(r"""hasattr\([^()]*,\s*["']recall["']\)""")


def test_code_does_not_use_hasattr_for_the_recall_of_a_batch():
    apps = ["authcodes", "bench", "campaigns", "config", "loyalty", "portal"]
    sources = [path for app in apps for path in (ROOT / app).rglob("*.py")]

    assert len(sources) > 300
    assert [str(path.relative_to(ROOT)) for path in sources if HAS_RECALL.search(path.read_text())] == []
    assert HAS_RECALL.search('if hasattr(batch, "recall"):')
