"""The product on the logins of compose.yaml: a script creates them, the owner migrates, the others serve."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from django.conf import settings
from django.db import connection
from psycopg import sql

from tests.support.live_stack import ROOT, Stack, wait_until

pytestmark = pytest.mark.django_db  # for the test database's server; the installation has its own database
SCRIPT = ROOT / "docs" / "operations" / "database-logins.sql"
NAME = "made_for_logins"
ROLES = "loyalty"  # prefix of the script's roles, which is the name of compose's database
LOGINS = ("owner", "web", "worker")
PAGES = ("authcodes/batchrange/", "authcodes/scan/", "loyalty/loyaltytransaction/", "brands/auditlogentry/")
FORBIDDEN = [
    "SET ROLE loyalty_owner",
    "ALTER TABLE brands_brand ADD x int",
    "SET ROLE loyalty_app; ALTER TABLE brands_brand ADD x int",
    "SET ROLE loyalty_app; TRUNCATE authcodes_scan",
    "SET ROLE loyalty_app; CREATE TABLE mine (x int)",
    "SET ROLE loyalty_app; ALTER TABLE brands_brand DISABLE ROW LEVEL SECURITY",
    "SET ROLE loyalty_tenant; DROP POLICY tenant_policy ON brands_brand",
    "CREATE ROLE friend SUPERUSER",
    "ALTER ROLE loyalty_web BYPASSRLS",
    "SELECT pg_read_file('/etc/passwd')",
]


@dataclass
class Installation:
    """A database with the script's logins, and the demo in it."""

    stack: Stack
    demo: dict[str, Any] = field(default_factory=dict)

    def address(self, login: str) -> str:
        return f"postgres://loyalty_{login}:{login}-secret@/{NAME}?host={connection.settings_dict['HOST']}"

    def connect(self, login: str) -> psycopg.Connection[Any]:
        return psycopg.connect(self.address(login), autocommit=True)

    def manage(self, *command: str) -> str:
        result = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=self.stack.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout


@pytest.fixture(scope="module")
def installation(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("logins")
    with django_db_blocker.unblock():
        entry = connection.settings_dict
        admin = psycopg.connect(host=entry["HOST"], user=entry["USER"], dbname="template1", autocommit=True)
        made = Installation(Stack(log=folder / "log", redis_url=settings.REDIS_URL))
        made.stack.settings = {
            "DATABASE_URL": made.address("worker"),
            "DATABASE_OWNER_URL": made.address("owner"),
            "DATABASE_ROLES": ROLES,
            "DATA_DIR": str(folder),
            "ALLOWED_HOSTS": "127.0.0.1,.localhost",
        }
        admin.execute(f"DROP DATABASE IF EXISTS {NAME}")
        admin.execute(f"CREATE DATABASE {NAME}")
        try:
            run_script(made)
            made.manage("migrate", "--noinput", "--verbosity=0")
            del made.stack.settings["DATABASE_OWNER_URL"]
            made.demo = json.loads(made.manage("demo", "--json"))
            made.stack.start_worker()
            made.stack.settings["DATABASE_URL"] = made.address("web")
            made.stack.start_web(workers=1)
            yield made
        finally:
            made.stack.stop()
            admin.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
            for login in LOGINS:
                admin.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(f"loyalty_{login}")))
            admin.close()


def run_script(made: Installation) -> None:
    """Run the script as the container's entry point does, with addresses in a directory that the server can read."""
    entry = connection.settings_dict
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        for login in LOGINS:
            file = Path(folder) / f"database_{login}_url"
            file.write_text(made.address(login))
            file.chmod(0o644)
        statements = SCRIPT.read_text().replace("/run/secrets/", f"{folder}/")
        with psycopg.connect(host=entry["HOST"], user=entry["USER"], dbname=NAME, autocommit=True) as admin:
            admin.execute(statements.encode())
            admin.execute(statements.encode())  # again: it changes nothing


def test_no_login_is_a_superuser_or_can_create_roles(installation):
    with installation.connect("web") as web:
        roles = web.execute(
            "SELECT rolname, rolcanlogin, rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication"
            " FROM pg_roles WHERE rolname LIKE 'loyalty\\_%' ORDER BY 1"
        ).fetchall()
        owners = web.execute(
            "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public' UNION"
            " SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()"
        ).fetchall()

    assert roles == [
        ("loyalty_app", False, False),
        ("loyalty_owner", True, False),
        ("loyalty_tenant", False, False),
        ("loyalty_web", True, False),
        ("loyalty_worker", True, False),
    ]
    assert owners == [("loyalty_owner",)]


@pytest.mark.parametrize("login", ["web", "worker"])
@pytest.mark.parametrize("statement", FORBIDDEN)
def test_logins_of_the_services_cannot_alter_tables_or_bypass_row_security(installation, login, statement):
    with installation.connect(login) as session, pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute(statement.encode())


def test_tenant_role_sees_and_changes_only_the_rows_of_its_brand(installation):
    own = installation.demo["brand_id"]
    with installation.connect("web") as web:
        web.execute("SET ROLE loyalty_tenant")
        web.execute(sql.SQL("SET loyalty.brand_ids = {}").format(sql.Literal(f"{{{own}}}")))
        brands = web.execute(
            "SELECT DISTINCT brand_id FROM authcodes_batchrange UNION SELECT id FROM brands_brand"
            " UNION SELECT DISTINCT brand_id FROM brands_apikey"
        ).fetchall()
        changed = web.execute("UPDATE brands_brand SET name = 'x' WHERE id <> %s", [own]).rowcount
    with installation.connect("web") as web:
        brand_count = web.execute("SELECT count(*) FROM brands_brand").fetchone()

    assert brands == [(own,)]
    assert changed == 0
    assert brand_count == (2,)  # control: without the role there are more


def test_scan_of_a_customer_earns_points(installation):
    demo, url = installation.demo, f"{installation.stack.url}/api/v1"
    customer = demo["customers"][0]
    login = httpx.post(
        f"{url}/auth/token",
        headers={"api-key": demo["app_key"]},
        json={"email": customer["email"], "password": customer["password"]},
        timeout=30,
    ).raise_for_status()
    headers = {"authorization": f"Bearer {login.json()['access']}"}

    def points():
        answer = httpx.get(f"{url}/customer/loyalty/points", headers=headers).raise_for_status()
        return answer.json()["data"]["points"]

    before = points()
    code = demo["codes"][0]
    httpx.post(f"{url}/verify/product/{code}", headers=headers, json={}).raise_for_status()

    after = wait_until(lambda: (current := points()) != before and current)
    rows = httpx.get(f"{url}/customer/loyalty/transactions", headers=headers).raise_for_status().json()
    assert after > before
    assert code in json.dumps(rows)


def test_owner_of_a_brand_can_use_the_portal(installation):
    [owner] = [each for each in installation.demo["staff"] if each["role"] == "owner"]
    with httpx.Client(base_url=installation.stack.url, follow_redirects=True, timeout=30) as browser:
        form = browser.get("/admin/login/").raise_for_status()
        token = browser.cookies["csrftoken"]
        entered = browser.post(
            "/admin/login/?next=/admin/",
            data={"username": owner["username"], "password": owner["password"], "csrfmiddlewaretoken": token},
            headers={"referer": str(form.url)},
        )
        assert entered.status_code == 200
        for page in (
            "",
            "authcodes/batchrange/",
            "authcodes/scan/",
            "loyalty/loyaltytransaction/",
            "brands/auditlogentry/",
        ):
            response = browser.get(f"/admin/{page}")
            assert (response.status_code, response.url.path) == (200, f"/admin/{page}")


def test_system_checks_report_no_issues(installation):
    output = installation.manage("check", "--database", "default")

    assert "no issues" in output


def test_login_of_a_service_cannot_migrate(installation):
    with pytest.raises(AssertionError, match=r"permission denied|must be (owner|able)|may make no roles"):
        installation.manage("migrate", "brands", "zero", "--noinput")
