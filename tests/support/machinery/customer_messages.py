"""The messages of the customer API, read from the code: those to translate, and those without a mark."""

import ast
from collections.abc import Iterator
from pathlib import Path

from core.errors import DomainError, error_classes

ROOT = Path(__file__).parents[3]
MARKS = {"_", "gettext", "gettext_lazy", "gettext_noop", "filled"}
# The modules that answer a customer's requests. What only staff, hubs and the brand's own API read is English.
CUSTOMER_MODULES = [
    "authcodes/errors.py",
    "authcodes/data_exports.py",
    "authcodes/api/data_exports.py",
    "authcodes/api/fake_reports.py",
    "authcodes/api/scan_caller.py",
    "authcodes/api/scan_responses.py",
    "authcodes/api/scan_serializers.py",
    "authcodes/api/scans.py",
    "authcodes/scanning/scan.py",
    "authcodes/scanning/guest_scans.py",
    "brands/errors.py",
    "brands/identity/authentication.py",
    "brands/identity/guessing.py",
    "brands/identity/jwks.py",
    "brands/identity/login_throttle.py",
    "brands/identity/tokens.py",
    "brands/tenants/legal_texts.py",
    "campaigns/api/campaigns.py",
    "campaigns/api/reward_claims.py",
    "campaigns/intake/payloads.py",
    "campaigns/progress",
    "config/serving",
    "core/api",
    "core/errors.py",
    "core/redis",
    "loyalty/api/members/email_change.py",
    "loyalty/api/members/legal_texts.py",
    "loyalty/api/members/passwords.py",
    "loyalty/api/members/profile.py",
    "loyalty/api/members/registration.py",
    "loyalty/api/members/sessions.py",
    "loyalty/api/points.py",
    "loyalty/api/push_devices.py",
    "loyalty/api/redemptions.py",
    "loyalty/api/referrals.py",
    "loyalty/api/rewards.py",
    "loyalty/api/transfers.py",
    "loyalty/api/wallets.py",
    "loyalty/errors.py",
    "loyalty/members/confirmations.py",
    "loyalty/members/erasure.py",
    "loyalty/members/passwords.py",
    "loyalty/members/profile.py",
    "loyalty/members/sessions.py",
    "loyalty/notifications/devices.py",
    "loyalty/notifications/preferences.py",
    "loyalty/points/birthdays.py",
    "loyalty/points/explanations.py",
    "loyalty/points/transfers.py",
    "loyalty/referrals/referrals.py",
    "loyalty/rewards/redeem.py",
    "loyalty/rewards/rules.py",
    "loyalty/rewards/undo.py",
    "loyalty/wallets/errors.py",
]
# Marked there, but for the audit log or the ledger.
NOT_FOR_CUSTOMERS = {"action", "note"}
# Messages of the job that exports a customer's data, which staff read too; its title is stored.
JOB_MESSAGES = {
    "Data of customer %(number)s",
    "Export a customer's data",
    "No file is created. You or the customer can start the export again.",
}
# Raised for programmers and workers.
INTERNAL = {"ValueError", "TypeError", "AssertionError", "RequestFailedError", "RetryLater"}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for module in CUSTOMER_MODULES:
        path_of_module = ROOT / module
        for path in sorted(path_of_module.rglob("*.py")) if path_of_module.is_dir() else [path_of_module]:
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def text_of(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def name_of(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def skipped(tree: ast.AST) -> set[ast.AST]:
    """The nodes below an argument or a dictionary key that no customer reads."""
    roots: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in NOT_FOR_CUSTOMERS:
            roots.append(node.value)
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            roots += [value for key, value in pairs if key and text_of(key) in NOT_FOR_CUSTOMERS]
    return {inner for root in roots for inner in ast.walk(root)}


def marked() -> set[str]:
    """The messages that are marked for translation, and those of every error."""
    kinds: list[type[DomainError]] = [DomainError, *error_classes().values()]
    messages = {str(kind.default_message) for kind in kinds}
    for _path, tree in modules():
        ignored = skipped(tree)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node not in ignored]
        texts = [text_of(call.args[0]) for call in calls if name_of(call.func) in MARKS and call.args]
        messages |= {text for text in texts if text}
    return messages - JOB_MESSAGES


def unmarked() -> list[str]:
    """Where an error is raised with a text that cannot be translated: `module:line`."""
    return [
        f"{path}:{node.lineno}"
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args
        if name_of(node.exc.func) not in INTERNAL
        if text_of(node.exc.args[0]) is not None or isinstance(node.exc.args[0], ast.JoinedStr)
    ]
