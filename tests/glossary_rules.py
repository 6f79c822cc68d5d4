"""Finds words that the glossary has retired: in names, translatable texts, docstrings and comments."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
APPS = ("core", "brands", "jobs", "events", "portal", "loyalty", "campaigns", "authcodes", "scanpage", "config")
TOOLS = ("bin", "bench", "tests")

# Names that the specification fixes, though one of their words may be retired elsewhere.
SPECIFIED = """
user_id user_points user_point_id points points_earned points_redeemed points_awarded points_per_scan current_level
reason reason_id note createdAt updatedAt loyalty_transaction loyalty_transaction_id user_loyalty_campaign
campaign_id campaign_name progress milestones_achieved milestone_achieved target target_value next_reward
next_level_threshold level_updated new_balance transaction_id campaign_progress type productId authCode title
retailPrice redeem_point_value scan_reward_type scan_reward_value brand_id prefix quantity scan_limit auth_code
auth_code_start auth_code_end inventory_location notes location product product_sku scan_id scan_date scan_count
scans total_scans customer_id customer_email timestamp first_scan first_scan_date first_scan_location latitude
longitude city region device app_version valid success error message data status support_email created_date
expiration_date version id source account time resources detail arguments payload authorization sku name code
"""
SPEC_NAMES = frozenset(SPECIFIED.split())


@dataclass(frozen=True)
class Rule:
    """A retired word, the expression that finds it, and what to write instead."""

    word: str
    pattern: re.Pattern[str]
    instead: str


def name_rule(names: str, instead: str, *, before: str = "", after: str = "") -> Iterator[Rule]:
    """Rules for words of a name; none applies after `before` or ahead of `after`, where the word is the standard."""
    for word in names.split():
        behind = f"(?<!_{before}_)" if before else ""
        ahead = f"(?!{after}_)" if after else ""
        yield Rule(word, re.compile(f"(?<=_){behind}{word}_{ahead}"), instead)


NAME_RULES = (
    *name_rule("told tell tells", "the noun (context, message, log_fields) or the verb (notify, push, record, report)"),
    *name_rule("said", "answer, text, message or output"),
    *name_rule("meant", "matching"),
    *name_rule("words", "text, label or message"),
    *name_rule("held", "locked (rows) or current_level"),
    *name_rule("found", "row, rows, result or the noun", before="not"),
    *name_rule("wanted asked", "requested, query or the noun"),
    *name_rule("given", "data (validated input), requested or the noun"),
    *name_rule("mine theirs others", "the noun, such as member_rows"),
    *name_rule("own_connection", "separate_connection"),
    *name_rule("beside", "extra_cte or extra_changes"),
    *name_rule("going", "eligible"),
    *name_rule("shown presented", "display or serialize"),
    *name_rule("refuse refuses refused refusing", "reject, rejected; DomainError"),
    *name_rule("refusal refusals", "error, errors"),
    *name_rule("keep", "save, retain or renew", after="alive"),
    *name_rule("keeps kept keeping", "save, saved, retained"),
    *name_rule("anew", "again"),
    *name_rule("meanwhile vain", "the state: pending, failed, unsuccessful"),
    *name_rule("look looks looked", "check, query, view; design, theme", after="up"),
    *name_rule("rest rests resting", "cooldown; remaining", after="framework"),
    *name_rule("who somebody anybody nobody stranger strangers visitor visitors", "user, customer or member"),
    *name_rule("person persons", "user; personal_data"),
    *name_rule("membership memberships", "staff_role, StaffRole"),
    *name_rule("reach", "brand_scope, BrandScope"),
    *name_rule("deed deeds trail", "audit_context; code_change_context; audit_log"),
    *name_rule("facts", "snapshot"),
    *name_rule("circumstances", "scan_context, ScanContext"),
    *name_rule("judge", "evaluate"),
    *name_rule("door doors", "endpoint, campaign_event, inline"),
    *name_rule("vouched", "token_verified"),
    *name_rule("together", "batch"),
    *name_rule("seat seats", "concurrency_slot"),
    *name_rule("bury buried", "mark_dead, dead"),
    *name_rule("overtaken", "superseded"),
    *name_rule("forget forgets forgotten", "purge (rows, files), erase (personal data), reset (caches)"),
    *name_rule("obstacle obstacles", "ineligibility"),
    *name_rule("wish wishes", "request, RedemptionRequest"),
    *name_rule("worthless", "unusable"),
    *name_rule("allowance allowances", "point_limit, RemainingLimit"),
    *name_rule("notice notices", "notification", before="recall"),
    *name_rule("parcel parcels news", "OutboundMessage; NotificationRequest"),
    *name_rule("announce announced announcement announcements", "publish; webhook_event"),
    *name_rule("verdict verdicts consult obey", "approval_decision; request_approval; apply_decision"),
    *name_rule("stretch stretches", "code_range, CodeRange"),
    *name_rule("outlook", "change_preview, ChangePreview"),
    *name_rule("widen widened widening", "add_codes"),
    *name_rule("lift lifted", "withdraw, withdrawn"),
    *name_rule("lettering sketch sketches", "text_layout; preview"),
    *name_rule("scanner scanners", "unique_scanner, UniqueScanner", before="unique"),
    *name_rule("unsettle", "mark_stale"),
    *name_rule("take_back give_back", "undo, unassign; return_points"),
    *name_rule("hand_out hand_over take_person_out", "grant; reassign; anonymise"),
    *name_rule(
        "hang_up put_off write_down take_in take_turns call_help",
        "disconnect; postpone; log; store; lock; request_extra_worker",
    ),
)
# The name of a test is a sentence, in which these are plain English.
IN_SENTENCES = {"found", "shown", "given", "kept", "keep", "keeps", "others", "who", "nobody", "together", "going"}
BOUNDS = (
    Rule("MAX", re.compile(r"\A_?(MOST|LONGEST|LARGEST|WIDEST|DEAREST|BIGGEST)(_|\Z)"), "MAX_"),
    Rule("MIN", re.compile(r"\A_?(SMALLEST|SHORTEST|EARLIEST)(_|\Z)"), "MIN_"),
)
PAGE = Rule("Page", re.compile(r"Page\Z"), "Admin (a model admin)")


def text_rule(word: str, pattern: str, instead: str) -> Rule:
    return Rule(word, re.compile(pattern), instead)


ANYWHERE_RULES = (
    text_rule('"told"', r"(?i)\btold\b", "notified, reported, passed"),
    text_rule('"anew"', r"(?i)\banew\b", "again"),
    text_rule('"meanwhile"', r"(?i)\bmeanwhile\b", "in the meantime, or what happened"),
    text_rule('"in vain"', r"(?i)\bin vain\b", "unsuccessful, or what failed"),
    text_rule('"not any more"', r"(?i)\b(not|no|nothing|nobody|never)\b[^.;:]*\bany ?more\b", "no longer"),
)
TEXT_RULES = (
    *ANYWHERE_RULES,
    # As a subject only: "the person who ..." and a question ("Who scanned?") are plain English.
    text_rule(
        '"Who ..." as subject',
        r"(?:\A|[.;:] )Who\b[^?.]*(?:\.|\Z)",
        "Anyone who ..., or the noun: the user, the uploader",
    ),
    # About a value: "There is no reward" says that something is missing, and stays.
    text_rule('"is no X"', r"(?i)\b(?<!there )(is|are) no (?!longer\b|more\b|one\b)[a-z]", "is not a valid X"),
    text_rule('"Empty: ..."', r"(?:\A|[.;] )[Ee]mpty: ", "Leave empty to ..."),
    text_rule('"Not at all"', r"(?i)\bnot at all\b", "the plain sentence, without inversion"),
    text_rule('"beside"', r"(?i)\bbeside\b", "next to; besides"),
    text_rule('"refuse"', r"(?i)(?<!\")\brefus(e|es|ed|al|als)\b", "reject, rejected; not allowed"),
    text_rule('"is worth nothing"', r"(?i)\bworth nothing\b", "expires, is invalid"),
)

# Of docstrings and comments, which may quote a value such as "refused".
COMMENT_RULES = (
    *ANYWHERE_RULES,
    text_rule('"refuse"', r"(?i)(?<![\"`'])\brefus(e|es|ed|al|als|ing)\b(?![\"`'])", "reject, raise, not allowed"),
    text_rule('"Whoever ..." as subject', r"(?:\A|[.;:] )Whoever\b", "Anyone who ..., or the noun"),
    text_rule('"of whom"', r"(?i)\bof whom\b", "whose, or the noun"),
)

GETTEXT = re.compile(r"\A(_|n?p?gettext(_lazy|_noop)?)\Z")
TRANSLATE = re.compile(r"""\{%\s*(?:translate|trans)\s+(?:"([^"]*)"|'([^']*)')""")
BLOCK = re.compile(
    r"\{%\s*(?:blocktranslate|blocktrans)\b[^%]*%\}(.*?)\{%\s*end(?:blocktranslate|blocktrans)\s*%\}", re.DOTALL
)
TAG = re.compile(r"\{[{%]\s*(\S.*?)\s*[}%]\}")
# Tags that name no variable of ours, by their first word.
TEXT_TAGS = {"translate", "trans", "blocktranslate", "blocktrans", "load", "url", "static", "comment", "extends"}
QUOTED = re.compile(r""" "[^"]*"|'[^']*' """, re.VERBOSE)
NAME = re.compile(r"[A-Za-z_]\w*")
CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def split(name: str) -> str:
    """`NotTold` and `not_told` as `_not_told_`."""
    return f"_{CAPITAL.sub('_', name).lower().strip('_')}_"


def names_of(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Names that a module gives: classes, functions, parameters, attributes, constants and local variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, node.name
        elif isinstance(node, ast.arg):
            yield node, node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node, node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node, node.id
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node, node.name


def texts_of(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if GETTEXT.match(called):
                yield from (
                    value.value
                    for value in node.args
                    if isinstance(value, ast.Constant) and isinstance(value.value, str)
                )


def retired_in_name(name: str) -> Iterator[Rule]:
    if name in SPEC_NAMES:
        return
    yield from (rule for rule in BOUNDS if rule.pattern.search(name))
    parts = split(name)
    rules = (rule for rule in NAME_RULES if f"_{rule.word}_" in parts and rule.pattern.search(parts))
    is_sentence = name.startswith("test_")
    yield from (rule for rule in rules if not (is_sentence and rule.word in IN_SENTENCES))


def retired_in_text(text: str) -> Iterator[Rule]:
    plain = " ".join(text.split())
    yield from (rule for rule in TEXT_RULES if rule.pattern.search(plain))


def comments_of(source: str) -> Iterator[str]:
    """The docstrings and comments of a Python module. Comments on lines that follow each other are one text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
    lines: list[str] = []
    previous = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != previous + 1:
            yield " ".join(lines)
            lines = []
        lines.append(token.string.lstrip("# "))
        previous = token.start[0]
    yield " ".join(lines)


def comments_of_sql(source: str) -> str:
    return " ".join(line.lstrip()[2:] for line in source.splitlines() if line.lstrip().startswith("--"))


def retired_in_comment(text: str) -> Iterator[tuple[Rule, str]]:
    plain = " ".join(text.split())
    yield from ((rule, plain) for rule in COMMENT_RULES if rule.pattern.search(plain))


def retired_in_module(path: str, source: str) -> Iterator[tuple[Rule, str]]:
    """Each retired word of a Python file, with the name or text that has it."""
    tree = ast.parse(source)
    stem = Path(path).stem
    yield from ((rule, stem) for rule in retired_in_name(stem))
    in_portal = path.startswith("portal/") or ("/admin" in path and not path.startswith("tests/"))
    for node, name in names_of(tree):
        yield from ((rule, name) for rule in retired_in_name(name))
        if in_portal and isinstance(node, ast.ClassDef) and PAGE.pattern.search(name):
            yield PAGE, name
    for text in texts_of(tree):
        yield from ((rule, text) for rule in retired_in_text(text))
    for text in comments_of(source):
        yield from retired_in_comment(text)


def variables_of(source: str) -> Iterator[str]:
    """The names that a template's tags read and set; texts are marked for translators, whose files know their names."""
    for tag in TAG.findall(BLOCK.sub("", source)):
        if tag.split(maxsplit=1)[0] not in TEXT_TAGS:
            yield from NAME.findall(QUOTED.sub("", tag))


def retired_in_template(path: str, source: str) -> Iterator[tuple[Rule, str]]:
    for name in (Path(path).stem, *variables_of(source)):
        yield from ((rule, name) for rule in retired_in_name(name))
    texts = [double or single for double, single in TRANSLATE.findall(source)] + BLOCK.findall(source)
    for text in texts:
        yield from ((rule, text) for rule in retired_in_text(text))


# A comment, a string or a regular expression of a script.
SCRIPT_TOKEN = re.compile(
    r"""
    (?P<comment> //[^\n]* | /\*.*?\*/ )
    | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | `(?:\\.|[^`\\])*`
    | (?<=[=(,:!&|?]) \s* /(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*
    """,
    re.DOTALL | re.VERBOSE,
)
# Where a script gives a name: a declaration, an assignment, and parameters of functions.
SCRIPT_NAMES = (
    re.compile(r"\b(?:const|let|var|function|class)\s+([\w$]+)"),
    re.compile(r"(?<![.\w$])([\w$]+)\s*=(?![=>])"),
    re.compile(r"([\w$]+)\s*=>"),
)
SCRIPT_LISTS = (
    re.compile(r"\b(?:const|let|var)\s+\[([^\]=]*)\]\s*(?:=|of\b)"),
    re.compile(r"\bfunction\s*[\w$]*\(([^()]*)\)"),
    re.compile(r"\(([^()]*)\)\s*=>"),
)
BRACES = re.compile(r"\{[^{}]*\}")  # an object's fields have their names from elsewhere


def names_of_script(source: str) -> Iterator[str]:
    code = SCRIPT_TOKEN.sub(lambda token: " " if token["comment"] else '""', source)
    for pattern in SCRIPT_NAMES:
        yield from pattern.findall(code)
    for pattern in SCRIPT_LISTS:
        for listed in pattern.findall(code):
            yield from NAME.findall(BRACES.sub("", listed))


def comments_of_script(source: str) -> str:
    comments = (token["comment"] for token in SCRIPT_TOKEN.finditer(source))
    return " ".join(comment.strip("/* \n") for comment in comments if comment)


def retired_in_script(path: str, source: str) -> Iterator[tuple[Rule, str]]:
    for name in sorted({Path(path).stem, *names_of_script(source)}):
        yield from ((rule, name) for rule in retired_in_name(name))
    yield from retired_in_comment(comments_of_script(source))


def retired_in_file(path: str, source: str) -> Iterator[tuple[Rule, str]]:
    match Path(path).suffix:
        case ".py":
            return retired_in_module(path, source)
        case ".sql":
            return retired_in_comment(comments_of_sql(source))
        case ".js":
            return retired_in_script(path, source)
        case _:
            return retired_in_template(path, source)


def files() -> Iterator[Path]:
    for folder in (*APPS, *TOOLS, "templates"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".py", ".html", ".txt", ".sql", ".js"} and not {
                "migrations",
                "node_modules",
                "vendor",
            } & set(path.parts):
                yield path


def retired() -> dict[str, list[tuple[Rule, str]]]:
    """Each retired word that there is, with the name or text that has it, by file."""
    result: dict[str, list[tuple[Rule, str]]] = {}
    for file in files():
        path = file.relative_to(ROOT).as_posix()
        result[path] = list(retired_in_file(path, file.read_text()))
    return result
