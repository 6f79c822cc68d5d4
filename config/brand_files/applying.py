"""Applies a brand file: all of it or nothing, one file at a time per brand, with each change in the audit log.

A plan applies the file and rolls back, so it shows exactly what applying would do.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Model, ProtectedError
from django.utils import timezone

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.models.tenants import Brand
from campaigns.admin.resources import check_stored_milestones
from campaigns.models.campaigns import Milestone
from campaigns.models.earning_rules import EarningRule
from config.brand_files import forms
from config.brand_files.reading import BrandFile, BrandFileError
from config.brand_files.sections import SECTIONS, Key, ListSection, Section, name_of, rows_by_key
from core.db import row_guard
from core.errors import DomainError
from loyalty.integrations import webhook_endpoints
from loyalty.models.webhooks import WebhookEndpoint

CREATE, CHANGE, SWITCH_OFF, DELETE, LEFT, IN_USE = "create", "change", "switch off", "delete", "left alone", "in use"
CHANGING = {CREATE, CHANGE, SWITCH_OFF, DELETE}


@dataclass(frozen=True, slots=True)
class Step:
    """What happens to one row. LEFT and IN_USE: nothing, although the brand has a row that the file lacks."""

    verb: str
    what: str
    fields: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def changes(self) -> bool:
        return self.verb in CHANGING

    def __str__(self) -> str:
        changes = "".join(f"\n    {name}: {_text(old)} -> {_text(new)}" for name, (old, new) in self.fields.items())
        return f"{self.verb:<10} {self.what}{changes}"


def _text(value: Any) -> str:
    return "nothing" if value in audit_log.EMPTY else str(value)


def plan(brand: Brand, file: BrandFile, *, prune: bool = False) -> list[Step]:
    """What applying would do, without changes. Raises BrandFileError."""
    with transaction.atomic():
        steps = apply(brand, file, prune=prune, reason="")
        transaction.set_rollback(True)
    return steps


def apply(
    brand: Brand, file: BrandFile, *, prune: bool = False, reason: str, planned: list[Step] | None = None
) -> list[Step]:
    """Make the brand what the file says. Returns the steps; a second call changes nothing.

    `planned`: the steps that were confirmed; BrandFileError if the actual ones differ.

    `prune`: switch off or delete the rows that the file's sections lack. A section that is not in the file is
    unchanged. Raises BrandFileError; then nothing was changed.
    """
    with transaction.atomic(), row_guard.within([brand.pk]):
        work = _Work(lock(brand), file, AuditContext(None, timezone.now(), reason=reason), prune=prune)
        with timezone.override(work.brand.zone):  # for moments without a zone, as in the portal
            work.run()
        if work.problems:
            raise BrandFileError(work.problems)
        if planned is not None and work.steps != planned:
            raise BrandFileError(
                [f"{brand.slug}: somebody changed it since the changes were shown. Apply the file again."]
            )
    return work.steps


def lock(brand: Brand) -> Brand:
    """The brand, locked so that files are applied one after the other."""
    return Brand.objects.select_for_update(no_key=True).get(pk=brand.pk)


class _Work:
    """One application of a file."""

    def __init__(self, brand: Brand, file: BrandFile, audit_context: AuditContext, *, prune: bool) -> None:
        self.brand, self.file, self.audit_context, self.prune = brand, file, audit_context, prune
        self.steps: list[Step] = []
        self.problems: list[str] = []
        self.superfluous: list[tuple[ListSection, Any, str]] = []

    @property
    def at(self) -> datetime:
        return self.audit_context.at

    def run(self) -> None:
        self._check_names()
        for section in SECTIONS:
            value = _value_at(self.file.data, section.path)
            if value is not _ABSENT:
                self._section(section, value)
        if not self.problems:
            self._remove_superfluous()
            with self._reported("campaigns"):
                check_stored_milestones()

    def _check_names(self) -> None:
        """Reject unknown names, which are probably misspelt."""
        known = {section.path.partition(".")[0] for section in SECTIONS}
        self._unknown("", self.file.data, known)
        notifications = self.file.data.get("notifications")
        if isinstance(notifications, dict):
            below = {section.path.partition(".")[2] for section in SECTIONS if section.path.startswith("notifications")}
            self._unknown("notifications", notifications, below)
        elif "notifications" in self.file.data:
            self._problem("notifications", "must be a mapping")

    def _unknown(self, path: str, data: Mapping[str, Any], known: Sequence[str] | set[str]) -> bool:
        unknown = [name for name in data if name not in known]
        for name in unknown:
            self._problem(f"{path}.{name}" if path else name, f"is not known; known are {', '.join(sorted(known))}")
        return bool(unknown)

    def _section(self, section: Section, value: Any) -> None:
        if isinstance(section, ListSection):
            self._list(section, self.brand, section.path, value)
        elif not isinstance(value, dict):
            self._problem(section.path, "must be a mapping")
        else:
            self._item(section, section.row(self.brand), section.path, value, name=section.path)

    def _list(self, section: ListSection, above: Model, path: str, items: Any) -> None:
        if not isinstance(items, list):
            self._problem(path, "must be a list")
            return
        rows, seen = self._locked(section, above, path), dict[Key, int]()
        for at, values in enumerate(items):
            here = f"{path}[{at}]"
            item = section.upgraded(values) if isinstance(values, dict) else values
            key = self._key(section, item, here)
            if key is None:
                continue
            if key in seen:
                self._problem(here, f"{name_of(key)} is there twice, first as {path}[{seen[key]}]")
                continue
            seen[key] = at
            row = rows.pop(key, None) or section.model(**{section.above: above})
            self._item(section, row, here, item, name=f"{section.path} {name_of(key)}")
        self.superfluous += [(section, row, f"{section.path} {name_of(key)}") for key, row in sorted(rows.items())]

    def _locked(self, section: ListSection, above: Model, path: str) -> dict[Key, Any]:
        if above.pk is None:
            return {}
        rows: Any = section.rows(above)
        return rows_by_key(section, rows.select_for_update(no_key=True), path)

    def _key(self, section: ListSection, item: Any, path: str) -> Key | None:
        """The item's key; None if it has no valid one, which is reported as a problem."""
        if not isinstance(item, dict):
            self._problem(path, "must be a mapping")
            return None
        problems = {name: _key_problem(item.get(name)) for name in section.key}
        for name, problem in problems.items():
            if problem:
                self._problem(f"{path}.{name}", problem)
        if any(problems.values()):
            return None
        try:
            return section.key_in(item)
        except ValidationError as error:
            self._problem(f"{path}.{section.key[0]}", " ".join(error.messages))
            return None

    def _item(self, section: Section, row: Any, path: str, item: Mapping[str, Any], *, name: str) -> None:
        parts = section.parts if isinstance(section, ListSection) else ()
        values = {key: value for key, value in item.items() if key not in {part.path for part in parts}}
        if self._unknown(path, values, {*section.fields, *(part.path for part in parts)}):
            return
        if row.pk:
            values = {key: value for key, value in values.items() if key not in section.only_new}
        before = copy.copy(row)
        problems = forms.wrong_kinds(section, values) or self._filled(section, before, row, values)
        if problems:
            self._report(path, problems)
            return
        with self._reported(path, section):
            self._store(section, before, row, values, name)
        for part in parts:
            if part.path in item and row.pk:
                self._list(part, row, f"{path}.{part.path}", item[part.path])

    def _filled(self, section: Section, before: Any, row: Any, values: Mapping[str, Any]) -> forms.Problems:
        problems = forms.fill(section, row, values)
        if not problems and isinstance(section, ListSection) and section.points:
            problems = forms.points_problems(section, self.brand, before, row)
        if not problems and isinstance(row, Milestone):
            problems = forms.milestone_problems(self.brand, before, row)
        return problems

    def _store(self, section: Section, before: Any, row: Any, values: Mapping[str, Any], name: str) -> None:
        if row.pk is None:
            made = self._create(row)
            self._note(made, audit_log.ADDED, audit_log.changes(None, made))
            self._switch(made, values)
            self.steps.append(Step(CREATE, name))
            return
        names = [key for key, value in section.values_of(before).items() if value != section.values_of(row)[key]]
        stored = {key: value for key, value in audit_log.changes(before, row).items() if key in names}
        if stored:
            if isinstance(row, WebhookEndpoint):
                webhook_endpoints.change(endpoint=row, fields=set(stored))
            else:
                self._save(row, list(stored))
            self._note(row, audit_log.CHANGED, stored)
        switched = self._switch(row, values)
        if stored or switched:
            self.steps.append(Step(CHANGE, name, {**stored, **switched}))

    def _save(self, row: Any, names: list[str]) -> None:
        """Store these fields; of a rule also when its state changed, since it pays nothing for earlier days."""
        if isinstance(row, EarningRule) and "state" in names:
            row.state_changed_by, row.state_changed_at = self.audit_context.user, self.at
            names = [*names, "state_changed_by", "state_changed_at"]
        row.save(update_fields=names)

    def _create(self, row: Any) -> Any:
        if not isinstance(row, WebhookEndpoint):
            row.save()
            return row
        made, _secret = webhook_endpoints.create(
            brand=self.brand, url=row.url, types=row.types, description=row.description, at=self.at
        )
        row.pk = made.pk
        return made

    def _switch(self, row: Any, values: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
        """Webhook endpoints are switched by the module that writes them, which also writes the audit log."""
        if not isinstance(row, WebhookEndpoint) or values.get("is_active", row.is_active) == row.is_active:
            return {}
        before = row.is_active
        if before:
            state = WebhookEndpoint.State.DISABLED
            webhook_endpoints.stop(endpoint=row, state=state, at=self.at, audit_context=self.audit_context)
        else:
            webhook_endpoints.start(endpoint=row, at=self.at, audit_context=self.audit_context)
        return {"is_active": (before, not before)}

    def _remove_superfluous(self) -> None:
        """Remove rows in the reverse order of sections: rewards before the levels that they are for."""
        for section, row, name in reversed(self.superfluous):
            is_off = bool(section.off) and all(getattr(row, key) == value for key, value in section.off.items())
            if not self.prune or is_off:
                self.steps.append(Step(LEFT, name))
            elif section.off:
                self._switch_off(section, row, name)
            else:
                self._delete(section, row, name)

    def _switch_off(self, section: ListSection, row: Any, name: str) -> None:
        changed = self._switch(row, section.off)
        if not isinstance(row, WebhookEndpoint):
            changed = {key: (getattr(row, key), value) for key, value in section.off.items()}
            for key, value in section.off.items():
                setattr(row, key, value)
            self._save(row, list(section.off))
            self._note(row, audit_log.CHANGED, changed)
        self.steps.append(Step(SWITCH_OFF, name, changed))

    def _delete(self, section: ListSection, row: Any, name: str) -> None:
        if section.is_in_use(row):
            self.steps.append(Step(IN_USE, name))
            return
        self._note(row, audit_log.DELETED, audit_log.changes(row, None))
        try:
            with transaction.atomic():
                row.delete()
        except ProtectedError:
            self._problem(section.path, f"{name} is in use and cannot be deleted")
            return
        self.steps.append(Step(DELETE, name))

    def _note(self, row: Any, action: Any, changes: audit_log.Changes) -> None:
        audited = AuditedChange(row, self.brand.pk, changes)
        audit_log.record(audit_context=self.audit_context, action=action, rows=[audited])

    @contextmanager
    def _reported(self, path: str, section: Section | None = None) -> Iterator[None]:
        """A savepoint; domain and integrity errors raised in it become problems of the file."""
        try:
            with transaction.atomic():
                yield
        except DomainError as error:
            self._report(path, forms.domain_problem(error, section) if section else {"": error.message})
        except IntegrityError as error:
            self._problem(path, f"The database rejects it: {str(error).splitlines()[0]}")

    def _report(self, path: str, problems: forms.Problems) -> None:
        for key, message in problems.items():
            self._problem(f"{path}.{key}" if key else path, message)

    def _problem(self, path: str, message: str) -> None:
        self.problems.append(self.file.problem(path, message))


def _key_problem(value: Any) -> str:
    """Why the value cannot be part of a key; empty if it can."""
    if value in audit_log.EMPTY:
        return "is required"
    return forms.ONE_VALUE if isinstance(value, list | dict) else ""


_ABSENT = object()


def _value_at(data: Any, path: str) -> Any:
    for name in path.split("."):
        if not isinstance(data, dict) or name not in data:
            return _ABSENT
        data = data[name]
    return data
