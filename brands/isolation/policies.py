"""Row-level security: the rows of each table that the roles of core.db.postgresql.roles may see, as the models declare.

A model with a foreign key `brand` needs no more than that. Any other names in `brand_through` the relations that lead
from a row to a brand: a row is visible if one of the related rows is. A table that belongs to no brand is in
`UNGUARDED` with the reason. `append_only` on a model allows no DELETE, and UPDATE only of the columns that it names.

A customer sees less of a brand: their own rows, if `customer_through` names the relations that lead to the person or to
another row of theirs; and all rows of a model that is `visible_to_customers`. They see nothing of a model with neither,
unless its `brand_through` leads to a row that they see.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.exceptions import FieldDoesNotExist, ImproperlyConfigured
from django.db.models import ForeignKey, Model

ALL = ("SELECT", "INSERT", "UPDATE", "DELETE")

# Tables that belong to no brand, why, and what the tenant's role may do with them. The application's reads and writes.
UNGUARDED: dict[str, tuple[str, tuple[str, ...]]] = {
    "django_session": ("Portal logins are read before anybody knows whose they are.", ()),
    "staff_login_factor": ("A login is one for all brands; its own page lifts the guard.", ()),
    "staff_login_recoverycode": ("As staff_login_factor.", ()),
    "staff_login_staffsession": ("As staff_login_factor.", ()),
    "staff_login_staffmail": ("As staff_login_factor.", ()),
    "loyalty_listedmembersmark": ("How far the lists of members are up to date; the same for everybody.", ()),
    "django_content_type": ("Names of models; the same for everybody.", ("SELECT",)),
    "auth_permission": ("Names of permissions; the same for everybody.", ("SELECT",)),
    "auth_group": ("Django's groups, which nobody uses: roles.TABLE stands instead.", ("SELECT",)),
    "auth_group_permissions": ("As auth_group.", ("SELECT",)),
    "brands_user_groups": ("As auth_group.", ("SELECT",)),
    "brands_user_user_permissions": ("As auth_group.", ("SELECT",)),
    "django_admin_log": ("Django's own log of the portal, which nobody writes.", ()),
}
# Written only by migrations.
BY_OWNER = {"django_migrations"}

# The scope as a subquery: read once in a statement, not once in a row.
SCOPE = "ANY ((SELECT nullif(current_setting('loyalty.brand_ids', true), '')::bigint[])::bigint[])"

MYSELF = "(SELECT nullif(current_setting('loyalty.user_id', true), '')::bigint)"
CUSTOMER = "(SELECT nullif(current_setting('loyalty.customer_id', true), '')::bigint)"
# Of IS NULL, PostgreSQL would expect one row in 200 to pass, and of CASE every other one, and choose plans and estimate
# how long lists are accordingly. Of what differs from a number it expects nearly all.
NO_CUSTOMER = "(SELECT (nullif(current_setting('loyalty.customer_id', true), '') IS NOT NULL)::int) <> 1"


@dataclass(frozen=True, slots=True)
class Table:
    """What the roles may do with a table. `visible` is the tenants' condition; empty: all rows or, unguarded, none."""

    name: str
    application: tuple[str, ...]
    tenant: tuple[str, ...]
    visible: str = ""

    @property
    def fingerprint(self) -> str:
        """Changes with anything that `statements` would change."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:32]

    def statements(self, *, application: str, tenant: str) -> Iterator[str]:
        """The SQL that gives these rights. The names of the roles are quoted."""
        table = f'"{self.name}"'
        yield f"REVOKE ALL ON {table} FROM PUBLIC, {application}, {tenant}"
        yield f"GRANT {', '.join(self.application)} ON {table} TO {application}"
        if self.tenant:
            yield f"GRANT {', '.join(self.tenant)} ON {table} TO {tenant}"
        if self.visible:
            for policy in ("application_policy", "tenant_policy"):
                yield f"DROP POLICY IF EXISTS {policy} ON {table}"
            yield f"CREATE POLICY application_policy ON {table} TO {application} USING (true) WITH CHECK (true)"
            yield f"CREATE POLICY tenant_policy ON {table} TO {tenant} USING ({self.visible})"
            yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"
        yield f"COMMENT ON TABLE {table} IS 'database roles {self.fingerprint}'"


def tables() -> list[Table]:
    """Every table, Django's own too. Raises ImproperlyConfigured for one that is neither guarded nor in UNGUARDED."""
    models = {meta(each).db_table: each for each in apps.get_models(include_auto_created=True) if is_stored(each)}
    return [Table(name, ("SELECT",), ()) for name in sorted(BY_OWNER)] + [
        table_of(model) for _name, model in sorted(models.items())
    ]


def meta(model: type[Model]) -> Any:
    return model._meta


def is_stored(model: type[Model]) -> bool:
    return bool(meta(model).managed and not meta(model).proxy)


def table_of(model: type[Model]) -> Table:
    name = meta(model).db_table
    rights = rights_of(model)
    if name in UNGUARDED:
        return Table(name, rights, UNGUARDED[name][1])
    return Table(name, rights, rights, condition(model))


def rights_of(model: type[Model]) -> tuple[str, ...]:
    columns = getattr(model, "append_only", None)
    if columns is None:
        return ALL
    return ("SELECT", "INSERT", *([f"UPDATE ({', '.join(columns)})"] if columns else []))


def condition(model: type[Model]) -> str:
    """The condition in SQL that a row of `model` belongs to the scope."""
    whose = of_customer(model)
    return f"({of_brand(model)}) AND ({whose})" if whose else of_brand(model)


def of_customer(model: type[Model]) -> str:
    """The condition in SQL that a customer may see a row of their brand. Empty if the brand's condition suffices."""
    label = meta(model).label
    if label == settings.AUTH_USER_MODEL:
        return _unless_customer(f"id = {CUSTOMER}")
    relations: Iterable[str] = getattr(model, "customer_through", ())
    if relations:
        return _unless_customer(" OR ".join(_of_user(model, each) for each in relations))
    # Without a column for the brand, a row is a customer's if the row that leads to the brand is.
    if getattr(model, "visible_to_customers", False) or not brand_column(model):
        return ""
    return NO_CUSTOMER


def _unless_customer(condition: str) -> str:
    return f"{NO_CUSTOMER} OR {condition}"


def _of_user(model: type[Model], relation: str) -> str:
    field: Any = meta(model).get_field(relation)
    if field.concrete and meta(field.related_model).label == settings.AUTH_USER_MODEL:
        return f"{field.column} = {CUSTOMER}"
    return _through(model, relation)


def of_brand(model: type[Model]) -> str:
    """The condition in SQL that a row belongs to one of the scope's brands, or is the scope's own user."""
    if brand := brand_column(model):
        return f"{brand} = {SCOPE}"
    relations: Iterable[str] = getattr(model, "brand_through", ())
    if not relations:
        message = (
            f"{meta(model).label} has no foreign key `brand`: say by `brand_through` which of its relations lead to "
            "one, or name its table in brands.isolation.policies.UNGUARDED with the reason"
        )
        raise ImproperlyConfigured(message)
    result = [_through(model, each) for each in relations]
    return " OR ".join([f"id = {MYSELF}", *result] if meta(model).label == settings.AUTH_USER_MODEL else result)


def brand_column(model: type[Model]) -> str:
    """The column that names the brand; empty without one."""
    if meta(model).label == "brands.Brand":
        return "id"
    try:
        field = meta(model).get_field("brand")
    except FieldDoesNotExist:
        return ""
    return str(field.column) if isinstance(field, ForeignKey) else ""


def _through(model: type[Model], relation: str) -> str:
    """Whether a row that is related by `relation` is visible: the related table's own policy decides that."""
    field: Any = meta(model).get_field(relation)
    own, related = (
        (field.column, field.target_field.column)
        if field.concrete
        else (field.field.target_field.column, field.field.column)
    )
    if field.concrete and meta(field.related_model).label == "brands.Brand":
        return f"{own} = {SCOPE}"
    other = meta(field.related_model).db_table
    match = f'"{other}"."{related}" = "{meta(model).db_table}"."{own}"'
    return f'EXISTS (SELECT FROM "{other}" WHERE {match})'
