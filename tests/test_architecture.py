"""What import contracts cannot say: hidden imports, one writer for each table, files that are read at once."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ORDER = ["core", "brands", "scanpage", "jobs", "events", "portal", "loyalty", "campaigns", "authcodes", "config"]
# Each writes everything that one thing changes in one statement, whichever topic's table it is.
ACCRUALS, REDEMPTION = "campaigns/accrual/sql/write_accruals.sql", "loyalty/rewards/sql/write_redemption.sql"
WRITES = {"create", "update", "save", "delete", "bulk_create", "bulk_update", "get_or_create", "update_or_create"}


def modules_of(app: str) -> list[Path]:
    return [path for path in sorted((ROOT / app).rglob("*.py")) if "migrations" not in path.parts]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports_of(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_scan_page_uses_only_its_brand_and_the_public_api():
    """It lies below everything that it shows: it takes the brand, the key and the pictures, and no more."""
    allowed = {
        "brands.identity",
        "brands.models.tenants",
        "brands.tenants",
        "brands.tenants.hostnames",
        "brands.tenants.picture_view",
        "core",
        "core.numbers",
    }
    names = {
        name
        for path in (ROOT / "scanpage").glob("*.py")
        for name in imports_of(tree_of(path))
        if name.partition(".")[0] in ORDER and not name.startswith("scanpage")
    }
    taken = {
        alias.name
        for path in (ROOT / "scanpage").glob("*.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and node.module in {"brands.identity", "brands.tenants", "core"}
        for alias in node.names
    }

    assert names <= allowed
    assert taken == {"api_keys", "colours", "contacts", "languages"}


@pytest.mark.parametrize("app", ORDER)
def test_functions_contain_no_imports(app):
    hidden = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in modules_of(app)
        for function in ast.walk(tree_of(path))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]

    assert hidden == []


@pytest.mark.parametrize("app", ORDER)
def test_modules_begin_with_a_docstring(app):
    silent = [
        str(path.relative_to(ROOT))
        for path in modules_of(app)
        if path.read_text().strip() and path.name != "apps.py" and not ast.get_docstring(tree_of(path))
    ]

    assert silent == []


def untranslated_lines(tree: ast.AST) -> Iterator[int]:
    """Lines where a job's title or log, or a ledger line's note, is a text that no catalogue of words knows."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        texts = [word.value for word in call.keywords if word.arg in {"title", "note"}]
        texts += call.args if ast.unparse(call.func) == "run.log" else []
        for text in texts:
            parts = [text.body, text.orelse] if isinstance(text, ast.IfExp) else [text]
            yield from (it.lineno for it in parts if isinstance(it, ast.JoinedStr) or is_text(it))


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(node.value)


@pytest.mark.parametrize("app", ORDER)
def test_texts_of_jobs_and_points_are_translatable(app):
    bare = [
        f"{path.relative_to(ROOT)}:{line}" for path in modules_of(app) for line in untranslated_lines(tree_of(path))
    ]

    assert bare == []


def by_topic(paths: set[str], writers: set[str]) -> set[str]:
    """A writer that ends in a slash stands for all files of the folder."""
    return {next((it for it in writers if it.endswith("/") and path.startswith(it)), path) for path in paths}


@pytest.mark.parametrize(
    ("table", "writer"),
    [
        ("user_points", {"loyalty/points/sql/", REDEMPTION, ACCRUALS}),
        ("loyalty_transaction", {"loyalty/points/sql/", REDEMPTION, ACCRUALS}),
        ("events_event", {"events/", ACCRUALS}),
        ("loyalty_creditedorder", {"loyalty/points/sql/hold_order.sql"}),
        ("loyalty_notification", {"loyalty/notifications/sql/"}),
        ("loyalty_redemption", {"loyalty/rewards/"}),
        ("loyalty_reward", {"loyalty/rewards/"}),
        ("authcodes_scan", {"authcodes/scanning/"}),
        ("loyalty_walletpass", {"loyalty/wallets/sql/"}),
        ("user_loyalty_campaign", {ACCRUALS}),
        ("campaigns_rewardclaim", {ACCRUALS}),
        ("campaigns_campaignbudgetuse", {"campaigns/accrual/sql/within_budgets.sql"}),
        ("authcodes_batchplacerollup", {"authcodes/rollups/sql/"}),
        ("authcodes_uniquescannerrollup", {"authcodes/rollups/sql/"}),
        ("authcodes_unscannedcodeattempt", {"authcodes/rollups/sql/"}),
        ("authcodes_importrow", {"authcodes/imports/"}),
        ("authcodes_importchange", {"authcodes/imports/"}),
        (
            "authcodes_authcode",
            {
                "authcodes/codes/sql/",
                "authcodes/imports/sql/",
                "authcodes/scanning/",
            },
        ),
        ("authcodes_codechange", {"authcodes/codes/sql/insert_import_runs.sql"}),
        ("loyalty_listedmember", {"loyalty/members/listing/sql/"}),
    ],
)
def test_table_is_written_only_by_its_topic(table, writer):
    writing = {
        str(path.relative_to(ROOT))
        for app in ORDER
        for path in [*modules_of(app), *sorted((ROOT / app).rglob("*.sql"))]
        if re.search(rf"(INSERT INTO|UPDATE|DELETE FROM) {table}\b", path.read_text())
    }

    assert by_topic(writing, writer) == writer


@pytest.mark.parametrize(
    ("model", "writers"),
    [
        ("AuditLogEntry", {"brands/audit_log.py"}),
        ("Picture", {"brands/tenants/pictures.py"}),
        ("UserPoints", {"loyalty/points/ledger.py", "loyalty/points/accounts.py"}),
        ("LoyaltyTransaction", set()),
        ("Event", {"events/"}),
        ("Redemption", {"loyalty/rewards/"}),
        ("CampaignBudgetUse", {"campaigns/earning/budgets.py", "campaigns/progress/"}),
        ("RewardClaim", {"campaigns/progress/"}),
        ("UserLoyaltyCampaign", {"campaigns/progress/"}),
        ("NotificationPreference", {"loyalty/notifications/preferences.py"}),
        ("Device", {"loyalty/notifications/devices.py"}),
        ("WebhookAttempt", {"loyalty/integrations/webhook_delivery.py"}),
        ("WebhookDelivery", {"loyalty/integrations/webhook_delivery.py", "loyalty/integrations/webhook_events.py"}),
        ("WebhookEndpoint", {"loyalty/integrations/webhook_endpoints.py"}),
        ("ExternalSystem", {"loyalty/integrations/external_system.py"}),
        ("WalletPass", {"loyalty/wallets/passes.py"}),
        ("WalletDevice", {"loyalty/wallets/devices.py"}),
        ("WalletIssuer", {"loyalty/wallets/issuers.py"}),
        ("Notification", {"loyalty/notifications/batching.py"}),
        ("NotificationDelivery", {"loyalty/notifications/delivery.py"}),
        ("CreditedOrder", {"loyalty/points/orders.py"}),
        ("SenderDomain", {"loyalty/notifications/sender_domains.py"}),
        ("SuppressedAddress", {"loyalty/notifications/suppression.py"}),
        ("Scan", set()),
        ("AuthCode", {"authcodes/codes/bulk_changes.py"}),
        ("BatchRange", {"authcodes/codes/batches.py", "authcodes/codes/printed_batches.py"}),
        ("CodeChange", {"authcodes/codes/history.py"}),
        ("PrintRun", {"authcodes/printing/runs.py"}),
        ("LabelLayout", {"authcodes/printing/layouts.py"}),
        ("Consent", {"loyalty/members/consents.py"}),
        ("ListedMember", {"loyalty/members/listing/"}),
        ("MemberNote", {"loyalty/admin/member_page/notes.py", "loyalty/personal_data.py"}),
        ("FakeReport", {"authcodes/fraud/fake_reports.py"}),
        ("WithdrawnRecall", {"authcodes/recalls/recalls.py"}),
        ("Recall", {"authcodes/recalls/recalls.py"}),
        ("RecallReturn", {"authcodes/recalls/returns.py"}),
        ("WithdrawnBatch", {"authcodes/recalls/recalls.py"}),
    ],
)
def test_model_is_written_only_by_its_topic(model, writers):
    assert by_topic(modules_that_write()[model], writers) <= writers


@cache
def modules_that_write() -> dict[str, set[str]]:
    """For each model the modules with a call such as `Model.objects.filter(...).update(...)`."""
    writers: dict[str, set[str]] = defaultdict(set)
    for path in (path for app in ORDER for path in modules_of(app)):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITES:
                model, objects, _calls = ast.unparse(node.func).partition(".objects")
                if objects:
                    writers[model].add(str(path.relative_to(ROOT)))
    return writers


@pytest.mark.parametrize("app", ORDER)
def test_app_docstring_is_one_sentence(app):
    text = ast.get_docstring(ast.parse((ROOT / app / "__init__.py").read_text())) or ""

    assert text.endswith(".")
    assert "\n" not in text


# Longer than the limit today; a line goes as soon as it can.
MAX_LINES = 350
LONG_FILES = {
    "config/settings.py",  # a table of settings
    "tests/support/endpoints.py",  # a table of endpoints
    "tests/support/fakes/wallets.py",
    "tests/support/portal.py",
}
MAX_MODULES = 15


SOURCES = {".py", ".sql", ".html", ".js", ".css"}
NOT_OURS = {"migrations", "vendor"}


def test_files_have_at_most_the_allowed_lines():
    files = [
        path
        for app in [*ORDER, "templates", "bench", "tests"]
        for path in (ROOT / app).rglob("*")
        if path.suffix in SOURCES
    ]
    ours = [path for path in files if not NOT_OURS & set(path.parts)]
    long = {str(path.relative_to(ROOT)) for path in ours if lines_of(path) > MAX_LINES}

    assert long == LONG_FILES


def test_folders_have_at_most_the_allowed_modules():
    rooms = [*ORDER, "bench", "tests"]
    counts = Counter(path.parent for room in rooms for path in modules_of(room) if path.name != "__init__.py")

    assert [str(folder.relative_to(ROOT)) for folder, number in counts.items() if number > MAX_MODULES] == []


def lines_of(path: Path) -> int:
    return len(path.read_text().splitlines())
