"""The database's roles: what the application and the tenants may do with each table, as PostgreSQL reports it."""

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import ProgrammingError, connection, models, transaction
from django.db.utils import IntegrityError
from django.test.utils import isolate_apps

from brands.isolation import checks, database_roles, policies
from brands.models.audit import AuditLogEntry
from core.db import row_guard
from core.db.postgresql import roles
from tests.conftest import NOT_TRUNCATED

pytestmark = pytest.mark.django_db

TABLES = """
SELECT c.relname, pg_get_userbyid(c.relowner), c.relrowsecurity,
       ARRAY(SELECT polname::text FROM pg_policy WHERE polrelid = c.oid ORDER BY 1),
       ARRAY(SELECT p FROM unnest('{TRUNCATE,REFERENCES,TRIGGER}'::text[]) p WHERE has_table_privilege(%s, c.oid, p)),
       ARRAY(SELECT p FROM unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE}'::text[]) p
              WHERE has_table_privilege(%s, c.oid, p))
FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 1
"""
GUARDED = ["application_policy", "tenant_policy"]


def fetch_rows(statement, parameters=None):
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall()


@pytest.fixture
def names():
    return roles.application(connection.settings_dict), roles.tenant(connection.settings_dict)


def test_every_table_has_row_level_security_or_a_reason(names):
    for table, _owner, is_secured, policy_names, _privileges, tenants in fetch_rows(TABLES, [*names]):
        if table in policies.UNGUARDED or table in policies.BY_OWNER:
            assert not policy_names
            assert set(tenants) <= {"SELECT"}, table
        else:
            assert is_secured, f"{table} lacks row-level security: migrate, and see brands.isolation.policies"
            assert policy_names == GUARDED, table


def test_application_owns_no_table_and_can_neither_truncate_nor_alter(names):
    for table, owner, _is_secured, _policies, privileges, tenants in fetch_rows(TABLES, [*names]):
        assert owner not in names
        assert privileges == [], table
        assert "TRUNCATE" not in tenants, table
    for statement in ("TRUNCATE authcodes_scan", "ALTER TABLE authcodes_scan ADD x int", "CREATE TABLE mine (x int)"):
        with pytest.raises(ProgrammingError), transaction.atomic():
            fetch_rows(statement)


def test_roles_have_no_administrative_attributes(names):
    attributes = fetch_rows(
        "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = ANY(%s)", [[*names]]
    )

    assert attributes == [(False, False, False, False)] * 2
    assert fetch_rows("SELECT current_user::text") == [(names[0],)]


@pytest.mark.parametrize("table", NOT_TRUNCATED)
def test_append_only_table_rejects_truncate_even_by_its_owner(table):
    with connection.as_owner():
        owner_statement = f"ALTER TABLE {table} ENABLE TRIGGER {NOT_TRUNCATED[table]}"
        with connection.cursor() as cursor:
            cursor.execute(owner_statement)
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE {table} CASCADE")


def test_application_cannot_change_append_only_tables():
    tables = {model._meta.db_table for model in apps.get_models() if hasattr(model, "append_only")}

    assert tables == set(NOT_TRUNCATED)
    for table in tables:
        for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET brand_id = 1", f"TRUNCATE {table}"):
            with pytest.raises(ProgrammingError), transaction.atomic():
                fetch_rows(statement)


def test_table_without_a_policy_raises_a_clear_error():
    with isolate_apps("brands"):

        class Unguarded(models.Model):  # noqa: DJ008
            class Meta:
                app_label = "brands"

    with pytest.raises(
        ImproperlyConfigured, match=r"brands\.Unguarded has no foreign key `brand`: say by `brand_through`"
    ):
        policies.table_of(Unguarded)


def test_migrating_again_changes_no_table():
    with connection.as_owner():
        assert database_roles.apply(connection) == []


def test_lost_policy_of_a_table_is_restored():
    with connection.as_owner():
        with connection.cursor() as cursor:
            cursor.execute("DROP POLICY tenant_policy ON authcodes_product")
        assert database_roles.apply(connection) == ["authcodes_product"]


def test_migrate_names_the_statements_for_an_administrator(settings, monkeypatch):
    """Without the roles and the right to create them nothing is migrated; the error has the statements."""
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("SELECT rolname FROM pg_roles WHERE rolname = 'plain_owner'")
        if not cursor.fetchone():
            cursor.execute("CREATE ROLE plain_owner")
        cursor.execute("SET LOCAL ROLE plain_owner")
        monkeypatch.setitem(connection.settings_dict, "ROLES", "nobody_made")
        connection._assumed = connection.required_scope  # or the next cursor would be the owner's again
        with pytest.raises(
            database_roles.RolesMissingError, match='CREATE ROLE "nobody_made_app" NOLOGIN NOBYPASSRLS;'
        ):
            database_roles.make(connection, login="shop")


def test_roles_are_named_after_the_database_within_the_length_limit():
    assert roles.application({"NAME": "shop"}) == "shop_app"
    assert roles.tenant({"NAME": "shop", "ROLES": "east"}) == "east_tenant"
    long = [roles.tenant({"NAME": f"{'x' * 62}{end}"}) for end in "ab"]
    assert all(len(name) <= 63 for name in long)
    assert len(set(long)) == 2


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT id FROM authcodes_authcode WHERE code = 'x'",
        "UPDATE authcodes_authcode SET scan_count = scan_count + 1 WHERE id = 1",
        "SELECT user_point_id FROM user_points WHERE user_id = 1 AND brand_id = 1 FOR UPDATE",
        "SELECT id FROM brands_user WHERE id = 1",
        "SELECT reason_id FROM loyalty_transaction WHERE user_point_id = 1",
    ],
)
def test_guard_adds_no_condition_to_statements_of_scans_and_accruals(statement):
    """The plan is the same as the owner's, to whom no policy applies."""

    def plan():
        return fetch_rows(f"EXPLAIN (COSTS OFF) {statement}")

    ours = plan()
    with connection.as_owner():
        owners = plan()
    with row_guard.within([1]):
        guarded = plan()

    assert ours == owners
    assert guarded != owners


def test_erasure_may_rewrite_names_in_the_audit_log(brand):
    assert AuditLogEntry.append_only == ("row_name", "reason", "changes")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT has_column_privilege(%s, 'brands_auditlogentry', 'reason', 'UPDATE')",
            [roles.application(connection.settings_dict)],
        )
        assert cursor.fetchone() == (True,)


@pytest.mark.django_db(transaction=True)
def test_with_two_logins_the_application_cannot_become_the_owner(names):
    owner = connection.settings_dict
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("DROP ROLE IF EXISTS shop_login")
        cursor.execute("CREATE ROLE shop_login LOGIN PASSWORD 'shop'")
        for name in names:
            cursor.execute(f"GRANT {name} TO shop_login")
    shop = connection.copy()
    shop.settings_dict = {**owner, "USER": "shop_login", "PASSWORD": "shop", "OWNER": {"USER": owner["USER"]}}
    try:
        assert users_of(shop) == (names[0], "shop_login")
        with row_guard.within([1]):
            assert users_of(shop) == (names[1], "shop_login")
        with shop.as_owner():
            assert users_of(shop) == (owner["USER"], owner["USER"])
        assert users_of(shop) == (names[0], "shop_login")
        with pytest.raises(ProgrammingError, match="must be owner"), shop.cursor() as cursor:
            cursor.execute("RESET ROLE; ALTER TABLE brands_brand ADD x int")
    finally:
        shop.close()
        with connection.as_owner(), connection.cursor() as cursor:
            cursor.execute("DROP ROLE shop_login")


def users_of(wrapper):
    with wrapper.cursor() as cursor:
        cursor.execute("SELECT current_user::text, session_user::text")
        return cursor.fetchone()


class TestChecks:
    def test_role_of_the_application_passes(self):
        assert checks.check_current_role(databases=["default"]) == []

    def test_single_login_for_everything_is_a_deployment_warning(self):
        [warning] = checks.check_login_role()

        assert warning.id == "brands.W003"
        assert "may bypass row-level security. The connection gives that up" in warning.msg

    def test_application_running_as_the_owner_is_an_error(self):
        with connection.cursor() as cursor:
            cursor.execute("RESET ROLE")
        try:
            [error] = checks.check_current_role(databases=["default"])
        finally:
            connection._assumed = None

        assert error.id == "brands.E001"

    @pytest.mark.parametrize(
        ("privilege", "option"), [("USAGE", "INHERIT TRUE"), ("MEMBER", "INHERIT FALSE, SET TRUE")]
    )
    def test_member_of_the_owner_counts_as_the_owner(self, privilege, option):
        with connection.cursor() as cursor:
            cursor.execute("RESET ROLE; CREATE ROLE its_owner; CREATE ROLE its_member")
            before = checks.role_attributes(connection, "'its_member'", privilege)
            cursor.execute(f"ALTER TABLE brands_brand OWNER TO its_owner; GRANT its_owner TO its_member WITH {option}")
        try:
            after = checks.role_attributes(connection, "'its_member'", privilege)
        finally:
            connection._assumed = None

        inherits_or_may_set = (privilege, option) != ("USAGE", "INHERIT FALSE, SET TRUE")
        assert (before, after) == (("its_member", False, False), ("its_member", False, inherits_or_may_set))

    def test_login_that_may_assume_a_role_without_the_guard_is_detected(self):
        with connection.cursor() as cursor:
            cursor.execute(
                "RESET ROLE; CREATE ROLE beyond BYPASSRLS; CREATE ROLE its_member; GRANT beyond TO its_member"
            )
        try:
            bypasses_guard = [
                checks.role_attributes(connection, "'its_member'", each)[1] for each in ("USAGE", "MEMBER")
            ]
        finally:
            connection._assumed = None

        assert bypasses_guard == [False, True]

    def test_disabled_guard_is_a_warning(self, monkeypatch):
        monkeypatch.setitem(connection.settings_dict, "GUARD", False)

        warnings = [*checks.check_current_role(databases=["default"]), *checks.check_login_role()]
        assert [warning.id for warning in warnings] == ["brands.W002"] * 2

    @pytest.mark.parametrize(("address", "ids"), [("", ["brands.W004"]), ("https://portal.example.com", [])])
    def test_portal_without_a_url_is_a_warning(self, settings, address, ids):
        settings.PORTAL_URL = address
        assert [warning.id for warning in checks.check_portal_url()] == ids


def test_command_prints_the_statements_for_an_administrator(capsys, names):
    call_command("database_roles")

    assert f'CREATE ROLE "{names[0]}" NOLOGIN NOBYPASSRLS;' in capsys.readouterr().out
