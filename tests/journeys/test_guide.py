"""The API guide's blocks of code, run from the first page to the last; their answers are the ones the pages show."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from brands.models import Brand
from tests import make, wallets

ROOT = Path(__file__).parent.parent.parent
GUIDE = ROOT / "docs/api"
BLOCK = re.compile(r"^```(sh|python|json)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "@@@@ block"


@dataclass
class Step:
    """A block in one language, and the answer that the page shows after it."""

    where: str
    code: str
    answer: str | None = None


def pages():
    order = re.search(r"```\{toctree\}\n:hidden:\n\n(.*?)```", (GUIDE / "index.md").read_text(), re.DOTALL)[1].split()
    return [GUIDE / "index.md", *(GUIDE / f"{name}.md" for name in order)]


def steps(language):
    found = []
    for page in pages():
        for kind, text in BLOCK.findall(page.read_text()):
            if kind == language:
                found.append(Step(f"{page.name}, block {len(found) + 1}", text))
            elif kind == "json":
                found[-1].answer = text
    return found


def fits(shown, got):
    """Whether an answer has what the page shows of it; "..." is anything."""
    if shown == "...":
        return True
    if isinstance(shown, dict):
        return isinstance(got, dict) and all(name in got and fits(shown[name], got[name]) for name in shown)
    if isinstance(shown, list):
        return isinstance(got, list) and len(got) == len(shown) and all(map(fits, shown, got))
    return shown == got


@pytest.fixture
def shop(stack, transactional_db, tmp_path):
    """The demo as a reader has it, with wallets and a reward; and a directory to work in, like the project's."""
    for name in (".venv", "manage.py"):
        (tmp_path / name).symlink_to(ROOT / name)
    environment = {
        **stack.environment(),
        "PORT": str(stack.port),
        "DATA_DIR": str(tmp_path / "var"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    made = subprocess.run(
        [sys.executable, "manage.py", "demo"],
        cwd=tmp_path,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    brand = Brand.objects.get(slug="demo-aurora")
    wallets.apple(brand)
    wallets.google(brand)
    make.reward(brand, name="A facial at home", cost=20)
    return tmp_path, environment


LANGUAGES = {
    "sh": (["bash", "-euo", "pipefail"], lambda where: f"echo; echo '{MARK} {where}'\n"),
    "python": ([sys.executable, "-u"], lambda where: f"print('\\n{MARK} {where}')\n"),
}


def test_every_block_of_the_guide_runs_and_answers_as_it_says(shop):
    faults = [fault for language in LANGUAGES for fault in run(language, *shop)]

    assert faults == []


def run(language, directory, environment):
    """Run every block of a language in one process; what of the answers is not as the pages show it."""
    command, mark = LANGUAGES[language]
    wanted = steps(language)
    script = "".join(mark(step.where) + step.code for step in wanted)
    said = subprocess.run(
        command, input=script, cwd=directory, env=environment, check=False, capture_output=True, text=True
    )
    answers = dict(part.split("\n", 1) for part in said.stdout.split(f"{MARK} ")[1:])
    if said.returncode or list(answers) != [step.where for step in wanted]:
        yield f"{language} ends after {list(answers)[-1:]}: {said.stdout[-1500:]}\n{said.stderr[-3000:]}"
        return
    for step in wanted:
        if step.answer is not None:
            lines = answers[step.where].strip().splitlines()
            if not lines or not fits(json.loads(step.answer), json.loads(lines[-1])):
                yield f"{language}, {step.where}: {lines}"


def test_every_step_is_shown_in_both_languages():
    shown = {language: [step.where for step in steps(language)] for language in LANGUAGES}

    assert shown["sh"] == shown["python"]
    assert sum(BLOCK.search(page.read_text()) is not None for page in pages()) == 8
