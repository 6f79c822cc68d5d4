"""The API guide's blocks of code, run from the first page to the last; their answers are the ones the pages show.

The session that README shows is run too.
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
ELSEWHERE = {
    *("check_alive", "check_ready"),  # docs/operations/monitor.md: for operators
    "claim_reward_by_old_path",  # answers as claim_reward does
    *("read_qr_image", "read_qr_image_svg"),  # fetched from addresses that list_qr_codes gives
}
BLOCK = re.compile(r"^```(sh|python|ts|json)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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
    factories.reward(brand, name="A facial at home", cost=20)
    return tmp_path, environment


LANGUAGES = {
    "sh": (["bash", "-euo", "pipefail"], lambda where: f"echo; echo '{MARK} {where}'\n"),
    "python": ([sys.executable, "-u"], lambda where: f"print('\\n{MARK} {where}')\n"),
}
TYPESCRIPT_MARK = "console.log(`\\n{mark} {where}`);\n"


def test_every_block_of_the_guide_runs_and_answers_as_it_says(shop):
    faults = [fault for language in LANGUAGES for fault in run(language, *shop)]

    assert faults == []
    assert newest_line(session(README), *shop)["points_earned"] > 0


@pytest.mark.skipif(
    not shutil.which("npm"), reason="Node.js with npm is not installed: the TypeScript blocks do not run"
)
def test_every_typescript_block_is_typed_and_answers_as_it_says(shop, tmp_path_factory):
    directory, environment = shop
    project = typescript.project(tmp_path_factory.mktemp("typescript"))
    expected_steps = steps("ts")
    program = "".join(TYPESCRIPT_MARK.format(mark=MARK, where=step.where) + step.code for step in expected_steps)
    (project / "guide.ts").write_text(program)

    built = typescript.compiled(project)
    assert built.returncode == 0, built.stdout
    result = typescript.ran(project, "guide", directory=directory, environment=environment)

    assert list(differences("ts", expected_steps, result)) == []


def session(page):
    """The page's block that calls the service with curl."""
    [found] = [text for kind, text in BLOCK.findall(page.read_text()) if kind == "sh" and "curl" in text]
    return found


def newest_line(script, directory, environment):
    """Of the ledger that the session ends with: the one for the code it scanned."""
    command, _mark = LANGUAGES["sh"]
    script += "echo $CODE"
    result = subprocess.run(
        command, input=script, cwd=directory, env=environment, check=False, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    *_before, ledger, code = result.stdout.splitlines()
    [line] = [line for line in json.loads(ledger)["data"] if line["reason_id"] == code]
    return line


def test_first_steps_show_the_session_of_the_readme():
    assert session(ROOT / "docs/first-steps.md") == session(README)


def test_every_operation_of_the_service_is_shown():
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

    assert missing == untyped == ELSEWHERE


def pattern(path):
    """Of the addresses that a path of the description stands for."""
    return re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))


def run(language, directory, environment):
    """Run every block of a language in one process; what of the answers is not as the pages show it."""
    command, mark = LANGUAGES[language]
    expected_steps = steps(language)
    script = "".join(mark(step.where) + step.code for step in expected_steps)
    result = subprocess.run(
        command, input=script, cwd=directory, env=environment, check=False, capture_output=True, text=True
    )
    yield from differences(language, expected_steps, result)


def differences(language, expected_steps, result):
    """What a program answered otherwise than the pages show."""
    answers = dict(part.split("\n", 1) for part in result.stdout.split(f"{MARK} ")[1:])
    if result.returncode or list(answers) != [step.where for step in expected_steps]:
        yield f"{language} ends after {list(answers)[-1:]}: {result.stdout[-1500:]}\n{result.stderr[-3000:]}"
        return
    for step in expected_steps:
        if step.answer is not None:
            lines = answers[step.where].strip().splitlines()
            if not lines or not fits(json.loads(step.answer), json.loads(lines[-1])):
                yield f"{language}, {step.where}: {lines}"


def test_every_step_is_shown_in_each_language():
    shown = {language: [step.where for step in steps(language)] for language in (*LANGUAGES, "ts")}

    assert shown["sh"] == shown["python"] == shown["ts"]
    assert sum(BLOCK.search(page.read_text()) is not None for page in pages()) == 10
