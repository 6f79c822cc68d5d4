"""Imports and exports campaigns with their milestones."""

import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.db.models import Model, Prefetch, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands import audit_log
from brands.audit_log import AuditContext
from campaigns.admin.campaign_form import problems_of
from campaigns.admin.milestone_form import above_ceiling, above_goal
from campaigns.models.campaigns import Campaign, Milestone, RewardClaim
from core.errors import Invalid
from core.numbers import grouped
from loyalty.models.rewards import Reward
from portal.base.gone_rows import MAX_ROWS
from portal.import_export import tables
from portal.import_export.cells import Column, ReferenceCell, column
from portal.import_export.plans import PlannedRow
from portal.import_export.resource import BATCH, TenantResource
from portal.import_export.tables import Table

MAX_MILESTONES = 2_000  # in all campaigns of a file
MOMENT = gettext_lazy("Such as 2026-12-31 18:00, in the brand's time zone.")
# The columns of each milestone: "milestone_", its number and one of these.
PARTS = {
    "threshold": column(
        Milestone,
        "threshold",
        "5",
        gettext_lazy(
            "The progress at which the milestone is reached. Further milestones have columns that begin with "
            "milestone_2_ and so on. If the file has any of these columns, milestones that it leaves out are removed."
        ),
    ),
    "catalogue_reward": column(
        Milestone,
        "reward",
        note=gettext_lazy(
            "The name of a reward of the catalogue. Leave empty for points, or for something that is not in "
            "the catalogue."
        ),
        reference="name",
    ),
    "reward": column(
        Milestone,
        "reward_name",
        "Free coffee",
        gettext_lazy("The name of the milestone's reward. Leave empty if the reward is in the catalogue."),
    ),
    "points": column(Milestone, "reward_points", "0", gettext_lazy("Points that the milestone pays.")),
    "auto_claim": column(
        Milestone, "auto_claim", "no", gettext_lazy("yes or no: whether the reward is given without being claimed.")
    ),
}
SECOND_EXAMPLE = {"threshold": "10", "catalogue_reward": "", "reward": "Bonus", "points": "50", "auto_claim": "yes"}


CATALOGUE_COLUMN = re.compile(r"milestone_[0-9]+_catalogue_reward")
WITH_REWARDS = Prefetch("milestones", Milestone.objects.select_related("reward"))


def title(number: int, part: str) -> str:
    return f"milestone_{number}_{part}"


@dataclass(slots=True)
class MilestonesPlan:
    """What an import does to the milestones of one campaign."""

    new: list[Milestone] = field(default_factory=list)
    changed: list[Milestone] = field(default_factory=list)
    same: list[Milestone] = field(default_factory=list)
    removed: list[Milestone] = field(default_factory=list)
    columns: dict[int, int] = field(default_factory=dict)  # threshold to column number

    def remaining(self) -> Iterator[Milestone]:
        yield from (*self.new, *self.changed, *self.same)


class CampaignResource(TenantResource):
    """Campaigns by ID, or by a name that only one has; their milestones by threshold.

    A file with milestone columns must contain all milestones: those that it leaves out are removed.
    """

    name = column(
        Campaign,
        "campaign_name",
        "Ten scans",
        gettext_lazy(
            "Required. If the id is empty, the name finds the campaign to change. A new name creates a new campaign."
        ),
        column_name="name",
    )
    type = column(Campaign, "type", "authenticator_scan", gettext_lazy("authenticator_scan, order, profile or login."))
    target_value = column(
        Campaign, "target_value", "10", gettext_lazy("Required. The goal, for example a count of scans.")
    )
    step_by = column(
        Campaign,
        "step_by",
        "count",
        gettext_lazy("count, amount (money spent) or products (different ones). If left out: count."),
    )
    is_repeatable = column(
        Campaign,
        "is_repeatable",
        "no",
        gettext_lazy("yes or no: whether members who have reached the goal begin again."),
        column_name="repeatable",
    )
    budget = column(
        Campaign,
        "budget",
        note=gettext_lazy("The most points that all its milestones pay together. Leave empty for no limit."),
    )
    starts_at = column(Campaign, "starts_at", "2026-01-01 00:00", MOMENT)
    ends_at = column(Campaign, "ends_at", "2026-12-31 23:59:59", MOMENT)
    active = column(Campaign, "is_active", "yes", gettext_lazy("yes or no."), column_name="active")

    has_id = True
    max_rows = tables.MAX_ROWS
    required = ("target_value",)

    class Meta:
        model = Campaign
        import_id_fields = ("name",)

    def column_names(self, rows: Sequence[Any] = ()) -> list[str]:
        """Columns for as many milestones as the campaign with the most has."""
        number = max([1, *(len(row.milestones.all()) for row in rows)])
        return [*super().column_names(rows), *(title(n + 1, part) for n in range(number) for part in PARTS)]

    def described_columns(self) -> dict[str, Column]:
        return {**super().described_columns(), **{title(1, part): each for part, each in PARTS.items()}}

    def template_row(self) -> dict[str, str]:
        """A campaign with two milestones."""
        return {**super().template_row(), **{title(2, part): cell for part, cell in SECOND_EXAMPLE.items()}}

    def check_table(self, table: Table) -> None:
        """As for any file. Also raises Invalid for too many milestones."""
        super().check_table(table)
        columns = [at for at, name in enumerate(table.columns) if name.startswith("milestone_")]
        named = {(row.line, table.columns[at].split("_")[1]) for row in table.rows for at in columns if row.values[at]}
        if len(named) > MAX_MILESTONES:
            text = _("The file has more than %(most)s milestones. Split it into several files.")
            raise Invalid(text % {"most": grouped(MAX_MILESTONES)})

    def _look_up(self, dataset: Any) -> Iterator[tuple[ReferenceCell, dict[str, Model]]]:
        """Also look up the rewards that milestones name: all of a file in one query."""
        yield from super()._look_up(dataset)
        cell: ReferenceCell = PARTS["catalogue_reward"].widget
        columns = [name for name in dataset.headers if CATALOGUE_COLUMN.fullmatch(name)]
        named = {value.strip() for name in columns for value in dataset[name]} - {""}
        rewards = Reward.objects.filter(brand=self.brand, name__in=named) if named else ()
        self._catalogue = {cell: {reward.name: reward for reward in rewards}}

    def known_columns(self) -> list[str]:
        return [*super().column_names(), *(title(n + 1, part) for n in range(MAX_ROWS) for part in PARTS)]

    def rows(self) -> QuerySet[Any]:
        return super().rows().prefetch_related(WITH_REWARDS)

    def exported(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        own = super().exported(rows)
        return own.prefetch_related(None).prefetch_related(WITH_REWARDS)  # rows() may have set the prefetch already

    def cells_of(self, row: Any) -> dict[str, str]:
        return {
            **super().cells_of(row),
            **{
                title(number, part): str(each.export(milestone))
                for number, milestone in enumerate(row.milestones.all(), 1)
                for part, each in PARTS.items()
            },
        }

    def import_more(self, planned: PlannedRow, row: dict[str, str]) -> None:
        stored = {} if planned.before is None else {each.threshold: each for each in planned.before.milestones.all()}
        planned.more = plan = MilestonesPlan()
        numbers = [number + 1 for number in range(MAX_ROWS) if title(number + 1, "threshold") in row]
        if not any(name.startswith("milestone_") for name in row):
            plan.same = list(stored.values())
            return
        for number in numbers:
            cells = {part: row[title(number, part)] for part in PARTS if title(number, part) in row}
            if any(cell.strip() for cell in cells.values()):
                self._import_milestone(planned, plan, stored, number, cells)
        self._reject_stray_cells(planned, row, set(numbers))
        plan.removed = [each for threshold, each in stored.items() if threshold not in plan.columns]
        planned.changes |= {_name(each): (_text(each), "") for each in plan.removed}

    def _reject_stray_cells(self, planned: PlannedRow, row: dict[str, str], numbers: set[int]) -> None:
        for name, cell in row.items():
            if name.startswith("milestone_") and cell.strip() and int(name.split("_")[1]) not in numbers:
                planned.add_error(name, _("The column of this milestone's threshold is missing."))

    def _import_milestone(
        self,
        planned: PlannedRow,
        plan: MilestonesPlan,
        stored: dict[int, Milestone],
        number: int,
        cells: dict[str, str],
    ) -> None:
        values = {}
        for part, cell in cells.items():
            try:
                values[part] = PARTS[part].widget.clean(cell, references=self._catalogue)
            except ValidationError as error:
                planned.add_error(title(number, part), " ".join(error.messages))
        if len(values) < len(cells):
            return
        threshold = values["threshold"]
        if threshold in plan.columns:
            planned.add_error(title(number, "threshold"), _("Two milestones have this threshold."))
            return
        plan.columns[threshold] = number
        before = stored.get(threshold)
        milestone = copy.copy(before) if before else Milestone(campaign=planned.instance)
        for part, value in values.items():
            setattr(milestone, PARTS[part].attribute, value)
        self._plan_milestone(planned, plan, before, milestone, number)

    def _plan_milestone(
        self, planned: PlannedRow, plan: MilestonesPlan, before: Milestone | None, milestone: Milestone, number: int
    ) -> None:
        if milestone.reward is not None:
            milestone.reward_name = milestone.reward.name
        was, now = _text(before), _text(milestone)
        if was == now:
            plan.same.append(milestone)
            return
        if milestone.reward is not None and milestone.reward_points:
            text = _("Enter 0: it gives the reward of the catalogue, and no points.")
            planned.add_error(title(number, "points"), text)
            return
        try:
            milestone.clean_fields(exclude=["campaign", "reward"])
        except ValidationError as error:
            parts = {each.attribute: part for part, each in PARTS.items()}
            for name, messages in error.message_dict.items():
                planned.add_error(title(number, parts[name]), " ".join(messages))
            return
        (plan.changed if before else plan.new).append(milestone)
        planned.changes[_name(milestone)] = (was, now)

    def check_rows(self, rows: Sequence[PlannedRow]) -> None:
        """Apply the checks of the campaign's form."""
        super().check_rows(rows)
        shrinking = [row.before.pk for row in rows if row.more.removed]
        claims = RewardClaim.objects.filter(milestone__campaign__in=shrinking)
        claimed = set(claims.values_list("milestone__campaign_id", flat=True).distinct()) if shrinking else set()
        for row in rows:
            for name, text in problems_of(row.instance, step_before=row.before.step_by if row.before else None).items():
                row.add_error(name if name in self.fields else "", text)
            self._check_milestones(row)
            if row.before and row.more.removed and row.before.pk in claimed:
                text = _("Rewards of this campaign were given: none of its milestones can be left out.")
                row.add_error("", text)

    def _check_milestones(self, row: PlannedRow) -> None:
        goal, ceiling = row.instance.target_value, Decimal(self.brand.max_points_per_scan)
        stored = {} if row.before is None else {each.threshold: each for each in row.before.milestones.all()}
        for milestone in row.more.remaining():
            number = row.more.columns.get(milestone.threshold)
            before = stored.get(milestone.threshold)
            most = max(ceiling, before.reward_points if before else Decimal(0))
            if milestone.threshold > goal:
                row.add_error(title(number, "threshold") if number else "target_value", above_goal(goal))
            if milestone.reward_points > most:
                row.add_error(title(number or 1, "points"), above_ceiling(most))

    def after_write(self, new: Sequence[PlannedRow], changed: Sequence[PlannedRow], context: AuditContext) -> None:
        super().after_write(new, changed, context)
        rows = [*new, *changed]
        for row in rows:
            for milestone in row.more.new:
                milestone.campaign = row.instance
        Milestone.objects.filter(pk__in=[each.pk for row in rows for each in row.more.removed]).delete()
        Milestone.objects.bulk_create([each for row in rows for each in row.more.new], batch_size=BATCH)
        names = [each.attribute for part, each in PARTS.items() if part != "threshold"]
        Milestone.objects.bulk_update([each for row in rows for each in row.more.changed], names, batch_size=BATCH)
        check_stored_milestones()

    def audited_changes(self, row: PlannedRow) -> audit_log.Changes:
        milestones = {
            name: (before or None, after or None)
            for name, (before, after) in row.changes.items()
            if name.startswith("milestone ")
        }
        return {**super().audited_changes(row), **milestones}


def _name(milestone: Milestone) -> str:
    """The name in previews and in the audit log; it cannot clash with a column."""
    return f"milestone at {milestone.threshold}"


def _text(milestone: Milestone | None) -> str:
    if milestone is None:
        return ""
    cells = {part: str(each.export(milestone)) for part, each in PARTS.items() if part != "threshold"}
    return "; ".join(f"{part}: {cell}" for part, cell in cells.items() if cell)


def check_stored_milestones() -> None:
    """Check the constraint now, not at commit: a colleague may have lowered the goal since the form was checked."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS milestone_above_goal IMMEDIATE")
    except IntegrityError as error:
        raise Invalid(_("The campaign's goal was changed in the meantime. Check the milestones.")) from error
