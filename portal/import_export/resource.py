"""Reference data in files: the base class for what a brand exports and imports, always within the brand.

django-import-export parses and builds the rows; this class decides whose rows they are, what is allowed and how they
are written. The library's own views, formats and temporary files are not used.
"""

import copy
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, ClassVar

import tablib  # type: ignore[import-untyped]
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _
from import_export.fields import Field
from import_export.instance_loaders import BaseInstanceLoader
from import_export.resources import Resource

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.identity.roles import ADD, CHANGE
from brands.models.credentials import ApiKey
from brands.models.people import User
from brands.models.tenants import Brand
from core.numbers import is_id
from core.spreadsheets.csv_files import neutral
from portal.import_export import checks, tables
from portal.import_export.cells import Column, ReferenceCell, rendered
from portal.import_export.checks import Seen
from portal.import_export.plans import Outcome, Plan, PlannedRow
from portal.import_export.tables import Table

ID = "id"
BATCH = 200


class BrandLoader(BaseInstanceLoader):  # type: ignore[misc] # the library has no types
    """Finds the brand's rows for the lines of a file: one query for all ids, and one for all names."""

    def __init__(self, resource: "TenantResource", dataset: Any) -> None:
        super().__init__(resource, dataset)
        cells = {name: dataset[name] for name in (ID, *resource.key_columns) if name in dataset.headers}
        self._by_id = {}
        if resource.has_id and ID in cells:
            ids = {int(cell) for cell in cells[ID] if is_id(cell.strip())}
            self._by_id = {row.pk: row for row in resource.rows().filter(pk__in=ids)}
        named = {
            f"{field.attribute}__in": {cell.strip() for cell in cells[field.column_name]} for field in resource.keys
        }
        self._by_key = defaultdict(list)
        for row in resource.rows().filter(**named):
            self._by_key[tuple(rendered(getattr(row, field.attribute)) for field in resource.keys)].append(row)

    def get_instance(self, row: dict[str, str]) -> Model | None:
        """Raises ValidationError for an id that is not a row's of the brand, and for a name that several have."""
        typed = row.get(ID, "").strip() if self.resource.has_id else ""
        if typed:
            if not is_id(typed) or int(typed) not in self._by_id:
                raise ValidationError({ID: _("There is no row with this id in this brand.")})
            result: Model = self._by_id[int(typed)]
            return result
        columns = self.resource.key_columns
        rows = self._by_key.get(tuple(row[name].strip() for name in columns), [])
        if len(rows) > 1:
            raise ValidationError({columns[0]: _("Several rows have this name. Add the column “id”.")})
        return rows[0] if rows else None


class TenantResource(Resource):  # type: ignore[misc] # the library has no types
    """The columns of one model's rows, and how a file of them is checked and written, for one brand.

    A subclass declares its columns with `cells.column`, and in Meta `model` and the import_id_fields that identify a
    row. The brand is never a column: rows and related rows are only looked up within it.
    """

    required: ClassVar[tuple[str, ...]] = ()  # columns that every file must have
    has_id: ClassVar[bool] = False  # for models whose names need not be unique
    note: ClassVar[Any] = ""  # shown before the upload
    related: ClassVar[tuple[str, ...]] = ()  # foreign keys that columns name
    max_rows: ClassVar[int] = tables.MAX_LARGE_ROWS  # of a file
    read_scope: ClassVar[str] = ApiKey.Scope.READ.value  # of a hub key that exports
    write_scope: ClassVar[str] = ApiKey.Scope.ADMIN.value  # of a hub key that imports
    add_verb: ClassVar[str] = ADD  # what a role must allow to add rows by a file
    change_verb: ClassVar[str] = CHANGE
    exports: ClassVar[bool] = True  # its rows are exported with the same columns
    # The importing user, or None for a program with a key; some rules depend on it.
    by: User | None = None
    key: ApiKey | None = None

    class Meta:
        instance_loader_class = BrandLoader
        skip_diff = True  # of the library, which copies each row; `PlannedRow.changes` replaces it

    def __init__(
        self, brand: Brand, *, may_add: bool = False, may_change: bool = False, seen: Seen | None = None
    ) -> None:
        super().__init__()
        self.brand = brand
        self.may_add, self.may_change = may_add, may_change
        self.seen = seen or Seen()
        self._references: dict[ReferenceCell, dict[str, Model]] = {}
        self._planned: list[PlannedRow] = []
        self._current: PlannedRow
        self._locks = False

    # --- What the columns are

    @classmethod
    def label(cls) -> str:
        """The model's label, for roles and jobs."""
        result: str = cls._meta.model._meta.label_lower
        return result

    @property
    def keys(self) -> list[Field]:
        return [self.fields[name] for name in self._meta.import_id_fields]

    @property
    def key_columns(self) -> list[str]:
        return [field.column_name for field in self.keys]

    def column_names(self, rows: Sequence[Any] = ()) -> list[str]:
        """The columns of a file with these rows."""
        return [*([ID] if self.has_id else []), *(field.column_name for field in self.fields.values())]

    def known_columns(self) -> Iterable[str]:
        return self.column_names()

    def required_columns(self) -> list[str]:
        return list(dict.fromkeys([*self.key_columns, *self.required]))

    def described_columns(self) -> dict[str, Column]:
        """What describes each of `column_names()`."""
        id_column = Column("", _("The id of the row to change. Leave empty for a new row."))
        return {ID: id_column, **{field.column_name: field for field in self.fields.values()}}

    def columns_for_people(self) -> list[tuple[str, str]]:
        """Each column with its description."""
        described, required = self.described_columns(), self.required_columns()
        return [
            (name, str(described[name].note) or (_("Required.") if name in required else ""))
            for name in self.column_names()
        ]

    def template_row(self) -> dict[str, str]:
        """The template's row: an example for each column."""
        described = self.described_columns()
        return {name: described[name].example for name in self.column_names()}

    def exported(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """The `rows` of the brand, with the related rows of their cells."""
        rows = rows.filter(brand=self.brand)
        return rows.select_related(*self.related) if self.related else rows

    def rows(self) -> QuerySet[Any]:
        """The brand's rows."""
        rows: QuerySet[Any] = self._meta.model._default_manager.filter(brand=self.brand)
        rows = rows.select_related(*self.related) if self.related else rows
        return rows.select_for_update(of=("self",), no_key=True).order_by("pk") if self._locks else rows

    # --- Out

    def export_rows(self, rows: Sequence[Any]) -> Iterator[list[str]]:
        """The cells of each row, neutralised so that no spreadsheet evaluates them as formulas."""
        names = self.column_names(rows)
        for row in rows:
            cells = self.cells_of(row)
            yield [neutral(cells.get(name, "")) for name in names]

    def cells_of(self, row: Any) -> dict[str, str]:
        cells = {field.column_name: str(field.export(row)) for field in self.fields.values()}
        return {ID: str(row.pk or ""), **cells} if self.has_id else cells

    # --- In

    def check_table(self, table: Table) -> None:
        """Raises Invalid for unknown, missing or duplicate columns."""
        tables.check_columns(table.columns, known=set(self.known_columns()), required=self.required_columns())

    def plan(self, table: Table, *, lock: bool = False) -> Plan:
        """What importing `table` would change. Reads only; with `lock`, in a transaction, it locks the rows.

        Raises the errors of `check_table`.
        """
        self.check_table(table)
        self._locks = lock
        self._planned = [PlannedRow(row.line, row.values) for row in table.rows]
        dataset = tablib.Dataset(*(row.values for row in table.rows), headers=table.columns)
        self._references = dict(self._look_up(dataset))
        # Nothing is written here: bulk_create and bulk_update are not called.
        result = self.import_data(dataset, use_transactions=False)
        for failed in [*result.base_errors, *(error for row in result.rows for error in row.errors)]:
            raise failed.error
        for planned, row in zip(self._planned, result.rows, strict=True):
            if row.validation_error:
                self._add_errors(planned, row.validation_error)
        self._check()
        return Plan(table.columns, self._planned)

    def _look_up(self, dataset: Any) -> Iterator[tuple[ReferenceCell, dict[str, Model]]]:
        for field in self.fields.values():
            if isinstance(field.widget, ReferenceCell) and field.column_name in dataset.headers:
                related = self._meta.model._meta.get_field(field.attribute).related_model
                name, named = field.widget.name, {cell.strip() for cell in dataset[field.column_name]}
                rows = related._default_manager.filter(brand=self.brand, **{f"{name}__in": named})
                yield field.widget, {getattr(row, name): row for row in rows}

    def init_instance(self, row: Any = None) -> Model:
        made: Model = self._meta.model(brand=self.brand)
        return made

    def import_instance(self, instance: Any, row: dict[str, str], **kwargs: Any) -> None:
        """Set the cells that differ on the row. Raises ValidationError by column."""
        self._current = planned = self._planned[kwargs["row_number"] - 1]
        planned.instance = instance
        planned.before = copy.copy(instance) if instance.pk else None
        for field in self.fields.values():
            if field.column_name in row:
                self._import_cell(field, planned, row)
        self.import_more(planned, row)
        if planned.errors:
            raise ValidationError("")

    def import_more(self, planned: PlannedRow, row: dict[str, str]) -> None:
        """Handle cells that are not fields of the row itself; store differences and errors on `planned`."""

    def _import_cell(self, field: Field, planned: PlannedRow, row: dict[str, str]) -> None:
        name, attribute, instance = field.column_name, field.attribute, planned.instance
        before = "" if planned.before is None else str(field.export(instance))
        if planned.before is not None and row[name] == before:
            return
        old = getattr(instance, attribute)
        try:
            field.save(instance, row, references=self._references)
        except ValidationError as error:
            planned.add_error(name, " ".join(error.messages))
            return
        after = str(field.export(instance))
        if after != before:
            planned.changes[name] = (before, after)
        elif planned.before is not None:
            setattr(instance, attribute, old)  # the same value in another notation

    def skip_row(self, instance: Any, original: Any, row: Any, import_validation_errors: Any = None) -> bool:
        return not import_validation_errors and bool(instance.pk) and not self._current.changes

    def validate_instance(
        self,
        instance: Any,
        import_validation_errors: Any = None,
        validate_unique: bool = True,  # noqa: FBT001, FBT002 - the library's
    ) -> None:
        """Validate the model's fields. `_check` compares all rows with others at once."""
        imported = {field.attribute: field for field in self.fields.values()}
        skipped = [
            field.name
            for field in instance._meta.fields
            if field.name not in imported
            or isinstance(imported[field.name].widget, ReferenceCell)
            or imported[field.name].column_name in self._current.errors
        ]
        instance.clean_fields(exclude=skipped)
        if import_validation_errors:
            raise ValidationError("")

    def save_instance(self, *_what: Any, **_more: Any) -> None:
        """Does nothing: `write` saves once the whole file is valid."""

    def _add_errors(self, planned: PlannedRow, error: ValidationError) -> None:
        titles = {field.attribute: field.column_name for field in self.fields.values()}
        by_field = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
        for name, messages in by_field.items():
            if text := " ".join(filter(None, messages)):
                planned.add_error(titles.get(name, name if name == ID or name in self.known_columns() else ""), text)

    def _check(self) -> None:
        """Checks beyond a single cell: the user's rights, other lines of the file, other rows of the brand."""
        self._check_repeated()
        written = [row for row in self._planned if row.outcome in {Outcome.NEW, Outcome.CHANGED}]
        for row in written:
            if row.before is None and not self.may_add:
                row.add_error("", _("Your role may not add rows."))
            if row.before is not None and not self.may_change:
                row.add_error("", _("Your role does not allow you to change rows."))
        for violation in checks.violations([row.instance for row in written], self.seen):
            written[violation.place].add_error("", violation.message)
        self.check_rows([row for row in written if not row.errors])

    def _check_repeated(self) -> None:
        """Two lines must not be for the same row."""
        same: dict[tuple[Any, ...], list[PlannedRow]] = defaultdict(list)
        for row in self._planned:
            if row.instance is not None and not row.errors.keys() & set(self.key_columns):
                key = tuple(getattr(row.instance, field.attribute) for field in self.keys)
                same[(row.before.pk,) if row.before else key].append(row)
        for row, lines in self.seen.repeated(same):
            row.add_error("", _("Lines %(lines)s are for the same row.") % {"lines": lines})

    def check_rows(self, rows: Sequence[PlannedRow]) -> None:
        """Further rules of a model, for new and changed rows without errors so far."""

    # --- Writing

    def write(self, plan: Plan, *, context: AuditContext) -> None:
        """Store the new and the changed rows of a plan without errors, each with its entry in the audit log.

        Call in the transaction that created the plan with `lock`.
        """
        model = self._meta.model
        new, changed = list(plan.of(Outcome.NEW)), list(plan.of(Outcome.CHANGED))
        model._default_manager.bulk_create([row.instance for row in new], batch_size=BATCH)
        titles = {field.column_name: field.attribute for field in self.fields.values()}
        names = {titles[name] for row in changed for name in row.changes if name in titles}
        if names:
            rows = [row.instance for row in changed]
            names |= self._touched()
            for row, name in product(rows, self._touched()):
                setattr(row, name, context.at)
            model._default_manager.bulk_update(rows, sorted(names), batch_size=BATCH)
        self.after_write(new, changed, context)
        for action, rows in ((audit_log.ADDED, new), (audit_log.CHANGED, changed)):
            noted = [AuditedChange(row.instance, self.brand.pk, self.audited_changes(row)) for row in rows]
            audit_log.record(audit_context=context, action=action, rows=noted)

    def _touched(self) -> set[str]:
        """The fields with the time of the last change, which bulk_update does not set."""
        return {field.name for field in self._meta.model._meta.fields if getattr(field, "auto_now", False)}

    def audited_changes(self, row: PlannedRow) -> audit_log.Changes:
        touched = self._touched()
        result = audit_log.changes(row.before, row.instance)
        return {name: values for name, values in result.items() if name not in touched}

    def after_write(self, new: Sequence[PlannedRow], changed: Sequence[PlannedRow], context: AuditContext) -> None:
        """What a model's own form does in addition to storing the row."""
