"""Runs the code blocks of the API guide from the first page to the last, and compares the answers with the pages.

The session of the README runs too.
"""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from brands.models.tenants import Brand
from tests.support import factories
from tests.support.fakes import typescript, wallets

ROOT = Path(__file__).parent.parent.parent
GUIDE = ROOT / "docs/api"
README = ROOT / "README.md"
CALL = re.compile(r'api\.(?:request\(\s*"([A-Z]+)",|(\w+)\()\s*f?"([^"]+)"')
TYPESCRIPT_CALL = re.compile(r'\.(GET|POST|PUT|PATCH|DELETE)\(\s*"([^"]+)"')
NOT_IN_GUIDE = {
    *("check_alive", "check_ready"),  # docs/operations/monitor.md: for operators
    "claim_reward_by_old_path",  # answers as claim_reward does
    *("read_qr_image", "read_qr_image_svg"),  # fetched from addresses that list_qr_codes gives
}
BLOCK = re.compile(r"^```(sh|python|ts|json)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "@@@@ block"


@dataclass
class Step:
    """A code block in one language, and the answer that the page shows after it."""

    where: str
    code: str
    answer: str | None = None


def pages():
    order = re.search(r"```\{toctree\}\n:hidden:\n\n(.*?)```", (GUIDE / "index.md").read_text(), re.DOTALL)[1].split()
    return [GUIDE / "index.md", *(GUIDE / f"{name}.md" for name in order)]


def steps(language):
    result = []
    for page in pages():
        for kind, text in BLOCK.findall(page.read_text()):
            if kind == language:
                result.append(Step(f"{page.name}, block {len(result) + 1}", text))
            elif kind == "json":
                result[-1].answer = text
    return result


def matches(expected, actual):
    """Whether an answer has everything that the page shows. "..." matches any value."""
    if expected == "...":
        return True
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            name in actual and matches(expected[name], actual[name]) for name in expected
        )
    if isinstance(expected, list):
        return isinstance(actual, list) and len(actual) == len(expected) and all(map(matches, expected, actual))
    return expected == actual


@pytest.fixture
def shop(stack, transactional_db, tmp_path):
    """The demo as a reader has it, with wallets and a reward, and a working directory like the project's."""
    for name in (".venv", "manage.py"):
        (tmp_path / name).symlink_to(ROOT / name)
    environment = {
        **stack.environment(),
        "PORT": str(stack.port),
        "DATA_DIR": str(tmp_path / "var"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    result = subprocess.run(
        [sys.executable, "manage.py", "demo"],
        cwd=tmp_path,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    brand = Brand.objects.get(slug="demo-aurora")
    wallets.apple(brand)
    wallets.google(brand)
    factories.reward(brand, name="A facial at home", cost=20)
    return tmp_path, environment


LANGUAGES = {
    "sh": (["bash", "-euo", "pipefail"], lambda where: f"echo; echo '{MARK} {where}'\n"),
    "python": ([sys.executable, "-u"], lambda where: f"print('\\n{MARK} {where}')\n"),
}
TYPESCRIPT_MARK = "console.log(`\\n{mark} {where}`);\n"


def test_every_block_of_the_guide_runs_with_the_documented_answer(shop):
    faults = [fault for language in LANGUAGES for fault in run_blocks(language, *shop)]

    assert faults == []
    assert newest_entry(session(README), *shop)["points_earned"] > 0


@pytest.mark.skipif(
    not shutil.which("npm"), reason="Node.js with npm is not installed: the TypeScript blocks do not run"
)
def test_every_typescript_block_is_typed_and_gives_the_documented_answer(shop, tmp_path_factory):
    directory, environment = shop
    project = typescript.project(tmp_path_factory.mktemp("typescript"))
    expected_steps = steps("ts")
    program = "".join(TYPESCRIPT_MARK.format(mark=MARK, where=step.where) + step.code for step in expected_steps)
    (project / "guide.ts").write_text(program)

    built = typescript.compile_project(project)
    assert built.returncode == 0, built.stdout
    result = typescript.run_program(project, "guide", directory=directory, environment=environment)

    assert list(differences("ts", expected_steps, result)) == []


def session(page):
    """The page's block that calls the service with curl."""
    [block] = [text for kind, text in BLOCK.findall(page.read_text()) if kind == "sh" and "curl" in text]
    return block


def newest_entry(script, directory, environment):
    """The ledger entry of the code that the session scanned."""
    command, _mark = LANGUAGES["sh"]
    script += "echo $CODE"
    result = subprocess.run(
        command, input=script, cwd=directory, env=environment, check=False, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    *_before, ledger, code = result.stdout.splitlines()
    [entry] = [entry for entry in json.loads(ledger)["data"] if entry["reason_id"] == code]
    return entry


def test_first_steps_show_the_session_of_the_readme():
    assert session(ROOT / "docs/first-steps.md") == session(README)


def test_guide_calls_every_operation_of_the_service():
    described = json.loads((ROOT / "docs/openapi.json").read_text())["paths"]
    calls = {
        (verb or method.upper(), f"/api/v1{path}")
        for page in pages()
        for verb, method, path in CALL.findall(page.read_text())
    }

    typed = {call for page in pages() for call in TYPESCRIPT_CALL.findall(page.read_text())}

    missing = {
        operation["operationId"]
        for path, operations in described.items()
        for method, operation in operations.items()
        if not any(verb == method.upper() and re.fullmatch(pattern(path), called) for verb, called in calls)
    }

    untyped = {
        operation["operationId"]
        for path, operations in described.items()
        for method, operation in operations.items()
        if (method.upper(), path) not in typed
    }

    assert missing == untyped == NOT_IN_GUIDE


def pattern(path):
    """The pattern of addresses that a path of the description stands for."""
    return re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))


def run_blocks(language, directory, environment):
    """Run every block of a language in one process. Yields what differs from the pages."""
    command, mark = LANGUAGES[language]
    expected_steps = steps(language)
    script = "".join(mark(step.where) + step.code for step in expected_steps)
    result = subprocess.run(
        command, input=script, cwd=directory, env=environment, check=False, capture_output=True, text=True
    )
    yield from differences(language, expected_steps, result)


def differences(language, expected_steps, result):
    """The differences between the output of a program and the answers on the pages."""
    answers = dict(part.split("\n", 1) for part in result.stdout.split(f"{MARK} ")[1:])
    if result.returncode or list(answers) != [step.where for step in expected_steps]:
        yield f"{language} ends after {list(answers)[-1:]}: {result.stdout[-1500:]}\n{result.stderr[-3000:]}"
        return
    for step in expected_steps:
        if step.answer is not None:
            lines = answers[step.where].strip().splitlines()
            if not lines or not matches(json.loads(step.answer), json.loads(lines[-1])):
                yield f"{language}, {step.where}: {lines}"


def test_every_step_is_shown_in_each_language():
    steps_by_language = {language: [step.where for step in steps(language)] for language in (*LANGUAGES, "ts")}

    assert steps_by_language["sh"] == steps_by_language["python"] == steps_by_language["ts"]
    assert sum(BLOCK.search(page.read_text()) is not None for page in pages()) == 10
