"""The result of a replay, prepared for its page and its CSV file."""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.urls import reverse
from django.utils.translation import get_language_bidi, ngettext
from django.utils.translation import gettext as _

from brands.identity import roles
from brands.identity.roles import VIEW
from campaigns.models.campaigns import Milestone
from campaigns.models.replays import Replay
from core.numbers import format_number, grouped, half_up, plural_number, rounded
from core.spreadsheets.csv_files import neutral
from loyalty.models.accounts import UserPoints
from loyalty.points.explanations import DEFAULT, LEVEL, OVERRIDE, REWARD, RULE
from loyalty.programme.point_costs import PointCosts
from portal.figures.cards import Card
from portal.figures.charts import chart_options
from portal.lists.local_time import day_and_month, day_text
from portal.lists.number_columns import format_points

MEMBERS, COSTS = "loyalty.userpoints", "loyalty.pointcost"
COLOURS = ("#94a3b8", "var(--color-primary-600)")
FILE_COLUMNS = ("part", "name", "points_paid", "points_with_draft", "cost_paid", "cost_with_draft")
Kind = Replay.Kind


@dataclass(frozen=True, slots=True)
class ComparisonLine:
    """A table row: what was paid and what the draft would have paid, in points and in the brand's currency."""

    name: str
    paid: Decimal
    tried: Decimal
    cost_paid: Decimal = Decimal(0)
    cost_tried: Decimal = Decimal(0)
    link: str | None = None
    is_own: bool = False

    @property
    def points(self) -> tuple[str, str, str]:
        return format_number(self.paid), format_number(self.tried), signed(self.tried - self.paid)

    @property
    def money(self) -> str:
        return signed(self.cost_tried - self.cost_paid)


@dataclass(frozen=True, slots=True)
class MilestoneLine:
    """What a milestone of a replayed campaign would have given."""

    threshold: str
    name: str
    reached: str
    actual_rewards: str
    gives: str
    withheld: str


def _milestone(data: Mapping[str, Any], worth: str) -> MilestoneLine:
    points, things = Decimal(data["points"]), data["things"]
    gives = format_points(points)
    if things:
        gives = ngettext("the reward once", "%(number)s times the reward", things) % {"number": grouped(things)}
    if worth:
        gives = _("%(gives)s, worth %(money)s") % {"gives": gives, "money": worth}
    return MilestoneLine(
        threshold=grouped(data["threshold"]),
        name=data["name"],
        reached=grouped(data["reached"]),
        actual_rewards=grouped(data["actual_rewards"]),
        gives=gives,
        withheld=grouped(data["withheld"]),
    )


class ReplayFigures:
    """The result of a finished replay as `user` may see it: members and costs need permissions of their own."""

    def __init__(self, replay: Replay, user: Any) -> None:
        self.replay, self.user = replay, user
        self.result: Mapping[str, Any] = replay.result or {}

    @property
    def tried_label(self) -> str:
        """The label of the figures with the draft."""
        labels = {
            Kind.RULE: _("With this rule"),
            Kind.LEVELS: _("With these levels"),
            Kind.CAMPAIGN: _("With this campaign"),
        }
        return labels[Kind(self.replay.kind)]

    @cached_property
    def sees_costs(self) -> bool:
        return self._sees(COSTS)

    @property
    def has_costs(self) -> bool:
        return self.sees_costs and bool(self.result["has_costs"])

    @cached_property
    def days(self) -> list[ComparisonLine]:
        return [_line(day_text(date.fromisoformat(day)), numbers) for day, *numbers in self.result["days"]]

    @cached_property
    def levels(self) -> list[ComparisonLine]:
        return [_line(name or _("No level"), numbers) for name, *numbers in self.result["levels"]]

    @cached_property
    def rules(self) -> list[ComparisonLine]:
        return [
            _line(_source(source, name), numbers, is_own=source == RULE and rule_id == self.replay.rule_id)
            for source, rule_id, name, *numbers in self.result["rules"]
        ]

    @cached_property
    def total(self) -> ComparisonLine:
        rows = [numbers for _day, *numbers in self.result["days"]]
        return _line(_("All"), [str(sum(map(Decimal, column))) for column in zip(*rows, strict=True)] or ["0"] * 4)

    @cached_property
    def members_by_level(self) -> list[ComparisonLine]:
        """How many of the members who did anything ended in each level."""
        rows = self.result.get("members_by_level", ())
        return [
            ComparisonLine(name or _("No level"), Decimal(actual), Decimal(drafted)) for name, actual, drafted in rows
        ]

    @property
    def campaign(self) -> Mapping[str, Any] | None:
        return self.result.get("campaign")

    @cached_property
    def milestones(self) -> list[MilestoneLine]:
        rows = (self.campaign or {}).get("milestones", ())
        return [_milestone(each, self.money_of(self.worth.get(each["id"]))) for each in rows]

    @cached_property
    def worth(self) -> Mapping[int, Decimal]:
        """The worth of the rewards by milestone ID, in the brand's currency, as far as they have a price in points.

        Empty if the cost of a point is unknown.
        """
        if self.point_cost is None:
            return {}
        things = {each["id"]: each["things"] for each in (self.campaign or {}).get("milestones", ()) if each["things"]}
        rows = Milestone.objects.filter(pk__in=things, campaign__brand=self.replay.brand_id, reward__cost__isnull=False)
        return {pk: things[pk] * points * self.point_cost for pk, points in rows.values_list("pk", "reward__cost")}

    def cost_of(self, points: Decimal) -> str:
        """What these points cost, as text; empty if the user may not see costs."""
        return self.money_of(points * self.point_cost if self.point_cost is not None else None)

    @cached_property
    def point_cost(self) -> Decimal | None:
        """The cost of a point on the replay's last day; None if unknown or if the user may not see it."""
        last_day = self.replay.brand.day_at(self.replay.until)
        return PointCosts(self.replay.brand_id).on(last_day) if self.sees_costs else None

    def money_of(self, amount: Decimal | None) -> str:
        return f"{rounded(amount, 2)} {self.replay.brand.currency}" if amount else ""

    def _sees(self, label: str) -> bool:
        return self.replay.brand_id in roles.brand_scope(self.user, VIEW, label)

    @cached_property
    def most(self) -> list[ComparisonLine]:
        return self._members("most")

    @cached_property
    def least(self) -> list[ComparisonLine]:
        return self._members("least")

    def _members(self, name: str) -> list[ComparisonLine]:
        """Members by e-mail address if the user may see members, otherwise by account number."""
        rows = self.result[name]
        known: dict[int, UserPoints] = {}
        if self._sees(MEMBERS):
            numbers = [account for account, _paid, _tried in rows]
            accounts = UserPoints.objects.filter(brand=self.replay.brand_id, pk__in=numbers).select_related("user")
            known = {account.pk: account for account in accounts}
        return [
            ComparisonLine(
                known[account].user.email if account in known else f"#{account}" if account else _("Not a member yet"),
                Decimal(paid),
                Decimal(tried),
                link=reverse("admin:loyalty_userpoints_change", args=[account]) if account in known else None,
            )
            for account, paid, tried in rows
        ]

    @property
    def cards(self) -> list[Card]:
        total, result = self.total, self.result
        more = total.tried - total.paid
        more_points = ngettext("%(more)s point", "%(more)s points", plural_number(more)) % {"more": signed(more)}
        cards = [
            Card(_("Points paid"), format_number(total.paid), self.period),
            Card(self.tried_label, format_number(total.tried), more_points),
        ]
        if self.has_costs:
            cost = signed(total.cost_tried - total.cost_paid)
            cards.append(Card(_("Cost"), f"{cost} {self.replay.brand.currency}", _("at your cost per point")))
        if self.campaign:
            finished = self.campaign["rounds"]
            rounds = ngettext("%(number)s round finished", "%(number)s rounds finished", finished)
            rounds %= {"number": grouped(finished)}
            reached = _("%(reached)s of %(all)s") % {
                "reached": grouped(self.campaign["finishers"]),
                "all": grouped(self.campaign["participants"]),
            }
            cards.append(Card(_("Participants who reach the goal"), reached, rounds))
        changed = {"gain": grouped(result["gainers"]), "lose": grouped(result["losers"])}
        cards.append(
            Card(_("Members"), grouped(result["members"]), _("%(gain)s would gain, %(lose)s would lose") % changed)
        )
        compared = ngettext(
            "in %(count)s action, decided again by the rules as they stood",
            "in %(count)s actions, decided again by the rules as they stood",
            result["compared"],
        )
        compared %= {"count": grouped(result["compared"])}
        cards.append(Card(_("Check against the ledger"), differences_text(result["differences"]), compared))
        return cards

    @property
    def period(self) -> str:
        return period_of(self.replay)

    @property
    def summary(self) -> str:
        """One sentence for the rule's own page."""
        paid, tried, more = self.total.points
        text = ngettext(
            "%(period)s: %(paid)s point was paid; with this rule %(tried)s (%(more)s). %(differences)s.",
            "%(period)s: %(paid)s points were paid; with this rule %(tried)s (%(more)s). %(differences)s.",
            plural_number(self.total.paid),
        )
        differences = differences_text(self.result["differences"])
        return text % {
            "period": self.period,
            "paid": paid,
            "tried": tried,
            "more": more,
            "differences": differences,
        }

    @property
    def chart(self) -> dict[str, Any]:
        """Data for unfold's chart."""
        values = [[float(day.paid) for day in self.days], [float(day.tried) for day in self.days]]
        labels = (_("Paid"), self.tried_label)
        data = {
            "labels": [day_and_month(date.fromisoformat(day[0])) for day in self.result["days"]],
            "datasets": [
                {"label": label, "data": bars, "backgroundColor": colour}
                for label, bars, colour in zip(labels, values, COLOURS, strict=True)
            ],
        }
        return {"data": json.dumps(data), "options": json.dumps(chart_options())}

    def as_csv(self) -> str:
        """All tables one below the other, with plain numbers; members by account number."""
        file = io.StringIO()
        writer = csv.writer(file)
        writer.writerow(FILE_COLUMNS)
        result = self.result

        def visible(points: list[str]) -> list[str]:
            """The two columns of points, and the two of costs if the user may see them."""
            return points if self.sees_costs else [*points[:2], "", ""]

        writer.writerows(["day", day, *visible(numbers)] for day, *numbers in result["days"])
        writer.writerows(["level", neutral(name), *visible(numbers)] for name, *numbers in result["levels"])
        writer.writerows(
            ["rule", neutral(_source(source, name)), *visible(numbers)]
            for source, _rule_id, name, *numbers in result["rules"]
        )
        if self.replay.kind == Kind.LEVELS:
            writer.writerows(
                ["members_at_level", neutral(name), *counts, "", ""] for name, *counts in result["members_by_level"]
            )
        for each in (self.campaign or {}).get("milestones", ()):
            writer.writerow(["milestone", neutral(each["name"]), each["actual_points"], each["points"], "", ""])
            writer.writerow(["times_reached", neutral(each["name"]), each["actual_rewards"], each["reached"], "", ""])
        for part in ("most", "least"):
            title = {"most": "gains_most", "least": "loses_most"}[part]
            writer.writerows([title, account, paid, tried, "", ""] for account, paid, tried in result[part])
        return file.getvalue()


def differences_text(number: int) -> str:
    return ngettext("%(count)s difference", "%(count)s differences", number) % {"count": grouped(number)}


def period_of(replay: Replay) -> str:
    """The first and last day, by the brand's clock."""
    first, last = (day_text(each.astimezone(replay.brand.zone)) for each in (replay.since, replay.until))
    return _("%(first)s to %(last)s") % {"first": first, "last": last}


def _line(name: str, numbers: list[str], *, is_own: bool = False) -> ComparisonLine:
    paid, tried, cost_paid, cost_tried = map(Decimal, numbers)
    return ComparisonLine(name, paid, tried, cost_paid, cost_tried, is_own=is_own)


def _source(source: str, name: str) -> str:
    if source == RULE:
        return name
    texts = {
        LEVEL: _("Points of levels"),
        OVERRIDE: _("Points of products and codes"),
        DEFAULT: _("One point for a scan"),
        REWARD: _("Milestones"),
    }
    return texts.get(source, _("Entries without a reason"))


def signed(number: Decimal) -> str:
    """With a sign, which precedes the number in every language; 0 has none."""
    result = half_up(number, 2)
    sign = "+" if result > 0 else "−" if result < 0 else ""  # noqa: RUF001 - a real minus sign
    mark = "\u200e" if sign and get_language_bidi() else ""
    return f"{mark}{sign}{format_number(abs(result))}"
