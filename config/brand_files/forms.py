"""Validates a row of the file with the form of its page in the portal."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.contrib import admin
from django.db.models import BooleanField, Field, ForeignKey, JSONField
from django.forms import modelform_factory

from brands.models.tenants import Brand
from campaigns.admin.event_kinds import EventKindFieldForm
from campaigns.admin.milestone_form import MilestoneForm, above_ceiling, above_goal
from campaigns.models.campaigns import Milestone
from campaigns.models.event_kinds import EventKindField
from config.brand_files.sections import ListSection, Section
from core.errors import DomainError
from loyalty.models.levels import RewardType
from loyalty.points import approvals

SCALAR = (str, int, bool, type(None))
ONE_VALUE = "must be one value: a text, a number or null"
Problems = dict[str, str]  # by field; "" is for the whole row


def wrong_kinds(section: Section, values: Mapping[str, Any]) -> Problems:
    """Reject values of types that a browser cannot send, so that no form checks for them."""
    result = {}
    for name, value in values.items():
        field = _field(section, name)
        if name == "is_active" or isinstance(field, BooleanField):
            if not isinstance(value, bool):
                result[name] = "must be true or false"
        elif isinstance(field, JSONField):
            if not isinstance(value, list | dict):
                result[name] = "must be a list or a mapping"
        elif name in {"types", "options"}:
            if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
                result[name] = "must be a list of names"
        elif not isinstance(value, SCALAR) or isinstance(value, bool):
            result[name] = ONE_VALUE
        elif value is None and field and not (field.null or field.blank):
            result[name] = "must not be null"
    return result


def fill(section: Section, row: Any, values: Mapping[str, Any]) -> Problems:
    """Put the file's values into `row` as the form of its page does, without saving. Returns the problems."""
    names = [name for name in section.fields if _field(section, name)]
    stored = section.values_of(row)
    sent = {name: values.get(name, stored[name]) for name in names}
    problems = _find_related(section, row, sent)
    sent = {
        name: json.dumps(sent[name]) if isinstance(_field(section, name), JSONField) else sent[name] for name in sent
    }
    with_brand = [] if isinstance(row, Brand | Milestone | EventKindField) else ["brand"]
    form = _form_class(section, row, [*with_brand, *names])
    filled = form(data={**sent, **({"brand": row.brand_id} if with_brand else {})}, instance=row)
    if isinstance(row, EventKindField) and row.pk and sent["type"] != row.type:
        problems["type"] = f"is {row.type} and never changes; add a field with another name"
    if not filled.is_valid():
        for name, messages in filled.errors.items():
            problems.setdefault(name if name in section.fields else "", " ".join(map(str, messages)))
    return problems


def _field(section: Section, name: str) -> "Field[Any, Any] | None":
    """The column, or None for a property of the row."""
    result = {each.name: each for each in section.model._meta.concrete_fields}
    return result.get(name)


def _form_class(section: Section, row: Any, names: list[str]) -> Any:
    if isinstance(row, Milestone | EventKindField):
        form_of_row = EventKindFieldForm if isinstance(row, EventKindField) else MilestoneForm
        return modelform_factory(section.model, form=form_of_row, fields=names)
    page: Any = admin.site.get_model_admin(section.model)
    form: Any = modelform_factory(section.model, form=page.form, fields=names)
    if isinstance(row, Brand):
        form.by_operator = True  # commands are run by the operator
    return form


def _find_related(section: Section, row: Any, sent: dict[str, Any]) -> Problems:
    """Replace names of related rows, such as a level's, with their IDs."""
    problems = {}
    for name, value in sent.items():
        field = _field(section, name)
        if isinstance(field, ForeignKey) and value is not None:
            related: Any = field.related_model
            brand_id = row.campaign.brand_id if isinstance(row, Milestone) else row.brand_id
            match = related.objects.filter(brand=brand_id, name=str(value)).first()
            sent[name] = match.pk if match else None
            if match is None:
                problems[name] = f"There is no {related._meta.verbose_name} “{value}”."
    return problems


def points_problems(section: ListSection, brand: Brand, before: Any, row: Any) -> Problems:
    """Reject points above both the ceiling and the stored value: the portal has a second person approve them."""
    kind = getattr(row, section.points_type)
    had = getattr(before, section.points) if before.pk and getattr(before, section.points_type) == kind else Decimal(0)
    most = max(approvals.ceiling(brand=brand, reward_type=kind), had)
    if getattr(row, section.points) <= most:
        return {}
    unit = "percent" if kind == RewardType.PERCENTAGE else "points"
    message = f"At most {most.normalize():,f} {unit} without a second person's approval. Ask for more in the portal."
    return {section.points: message}


def milestone_problems(brand: Brand, before: Milestone, row: Milestone) -> Problems:
    """The checks of the campaign's page."""
    most = max(Decimal(brand.max_points_per_scan), before.reward_points if before.pk else Decimal(0))
    problems = {}
    if row.threshold and row.threshold > row.campaign.target_value:
        problems["threshold"] = above_goal(row.campaign.target_value)
    if row.reward_points is not None and row.reward_points > most:
        problems["reward_points"] = above_ceiling(most)
    return problems


def domain_problem(error: DomainError, section: Section) -> Problems:
    name = error.details.get("field", "")
    return {name if name in section.fields else "": error.message}
