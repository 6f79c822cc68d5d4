"""Histories of a brand for replays: actions of members over weeks, while rules and terms change."""

import random
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

from django.db import connection, transaction
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.people import User
from brands.models.tenants import Brand
from campaigns.accrual import welcome
from campaigns.earning import rules
from campaigns.models.earning_rules import EarningRule
from campaigns.replay.drafts import Draft
from campaigns.replay.replay import replay
from events import worker
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.levels import BrandLevel
from loyalty.points import adjustments
from tests.support import factories, shop

# Columns with moments, by table. When a week passes, all of them move back by a week.
MOMENTS = {
    "loyalty_transaction": ('"createdAt"', '"updatedAt"'),
    "events_event": ("finished_at", "time", "created_at"),
    "campaigns_earningruleversion": ("written_at",),
    "campaigns_earningterms": ("valid_from",),
    "loyalty_orderreturn": ("created_at", "applied_at"),
    "loyalty_creditedorder": ("credited_at",),
    "loyalty_pendingpoints": ("created_at", "release_at"),
    "loyalty_levelchange": ("created_at",),
    "user_points": ("period_from", "level_until", "level_warned_until", "level_due_at"),
}


MONTHLY_LIMIT: int | None = 90


def execute_without_triggers(statement: str, parameters: Any = None) -> None:
    """Execute a statement past the triggers that protect stored rows."""
    with connection.as_owner(), connection.cursor() as cursor:  # type: ignore[attr-defined] # our own backend's
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(statement, parameters)
        cursor.execute("SET LOCAL session_replication_role = origin")


def shift_one_week_back() -> None:
    for table, columns in MOMENTS.items():
        moved = ", ".join(f"{column} = {column} - interval '7 days'" for column in columns)
        execute_without_triggers(f"UPDATE {table} SET {moved}")
    # The reason of a login is its day. In two steps, as two days of a member must never be the same.
    before, after = "'was:' || (substr(reason_id, 7)::date - 7)", "'login:' || substr(reason_id, 5)"
    for prefix, changed in (("login:", before), ("was:", after)):
        execute_without_triggers(
            f"UPDATE loyalty_transaction SET reason_id = {changed} WHERE reason_id LIKE '{prefix}%%'", []
        )
    execute_without_triggers(
        "UPDATE campaigns_earningruleuse SET started = started - 7 WHERE period IN ('day', 'week')"
    )


def replay_rule(
    rule: EarningRule, *, since: datetime | None = None, until: datetime | None = None, **changed: Any
) -> dict[str, Any]:
    """The result of a replay of the rule as it is, or with the fields in `changed`."""
    draft = Draft("rule", rule.name, {**rules.content_of(rule), **changed}, rule_id=rule.pk)
    return replay_draft(Brand.objects.get(pk=rule.brand_id), draft, since=since, until=until)


def replay_draft(
    brand: Brand, draft: Draft, *, since: datetime | None = None, until: datetime | None = None
) -> dict[str, Any]:
    now = timezone.now()
    with transaction.atomic():
        connection.ensure_connection()
        return replay(
            brand=Brand.objects.get(pk=brand.pk),
            draft=draft,
            since=since or now - timedelta(days=400),
            until=until or now,
            raw=connection.connection,
        )


def points_paid_since(brand: Brand, since: datetime) -> Decimal:
    """The points of actions, by the ledger alone."""
    rows = LoyaltyTransaction.objects.filter(
        user_point__brand=brand, reason__in=["earned", "pending"], created_at__gte=since
    ).exclude(reason_id__regex="^(redeem-undo|adjust|opening):")
    return sum((row.points_earned + row.points_pending for row in rows), Decimal(0))


class History:
    """A brand, some members and their random actions. The same `seed` gives the same history."""

    def __init__(self, brand: Brand, seed: int, members: int = 4, **campaign: Any) -> None:
        self.brand, self.random = brand, random.Random(seed)
        brand.levels.all().delete()
        for name, threshold, kind, value in (
            ("Bronze", 0, "points", 1),
            ("Silver", 25, "points", 3),
            ("Gold", 60, "percentage", 10),
        ):
            factories.level(brand, name, threshold, kind, value)
        self.products = [
            factories.product(brand, sku=sku, title=sku, category=category, tags=tags, retail_price=price)
            for sku, category, tags, price in (
                ("SERUM", "Serums", ["new"], "49.90"),
                ("SOAP", "Soaps", [], "5.00"),
                ("CREAM", "Serums", [], "29.00"),
            )
        ]
        self.campaign = factories.campaign(brand, **campaign)
        factories.milestone(self.campaign, 3, reward_points=7, auto_claim=True)
        self.customers = [factories.customer(brand) for _number in range(members)]
        self.orders: dict[str, User] = {}
        self.numbers = 0

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def act(self, times: int, *, returns: bool = True) -> None:
        possible_actions = [
            self.scan,
            self.scan,
            self.scan,
            self.order,
            self.log_in,
            self.complete_profile,
            self.visit,
            self.adjust,
        ]
        possible_actions += [self.return_order] if returns else []
        for _time in range(times):
            self.random.choice(possible_actions)(self.random.choice(self.customers))
            worker.drain()  # its consequences, such as a milestone's points

    def scan(self, customer: User) -> None:
        code = factories.code(self.brand, product=self.random.choice(self.products), campaign=self.campaign)
        payload = {"type": "authenticator_scan", "product": {"authCode": code.code}}
        shop.report(self.brand, customer, "scan-auth", payload)

    def order(self, customer: User) -> None:
        items = [
            {"productId": product.pk, "sku": product.sku, "quantity": self.random.randint(1, 3),
             "unitPrice": str(product.retail_price)}
            for product in self.random.sample(self.products, 2)
        ]  # fmt: skip
        subtotal = sum(Decimal(each["unitPrice"]) * each["quantity"] for each in items)
        order_id = f"A-{self.number()}"
        shop.buy(self.brand, customer, order_id, subtotal, items=items, discount=self.random.choice(["0", "3.30"]))
        self.orders[order_id] = customer

    def log_in(self, customer: User) -> None:
        shop.report(
            self.brand, customer, "log-user-login", {"type": "login", "channel": self.random.choice(["app", "web"])}
        )

    def complete_profile(self, customer: User) -> None:
        fields = self.random.sample(["birthday", "city", "phone", "gender", "language"], 2)
        shop.report(self.brand, customer, "log-user-profile-update", {"type": "profile", "completedFields": fields})

    def visit(self, customer: User) -> None:
        shop.report(self.brand, customer, "store-visit", {"minutes": self.random.randint(1, 30)})

    def join(self) -> None:
        """Let a new member join and be welcomed."""
        self.customers.append(factories.customer(self.brand))
        welcome.publish_welcomes(at=timezone.now())
        worker.drain()

    def return_order(self, _customer: User) -> None:
        if self.orders:
            order_id = self.random.choice(list(self.orders))
            shop.return_order(self.brand, self.orders[order_id], order_id, f"R-{self.number()}", amount="4.00")

    def adjust(self, customer: User) -> None:
        adjustments.adjust(
            account=factories.account(customer, self.brand),
            points=Decimal(self.random.randint(1, 9)),
            key=uuid4(),
            audit_context=AuditContext(None, timezone.now(), reason="Sorry"),
        )

    def rule(self, kind: str, effect: str, value: Any, **fields: Any) -> EarningRule:
        defaults = {"name": f"Rule {self.number()}", "without_end": True}
        return factories.earning_rule(self.brand, kind, value, effect, **{**defaults, **fields})

    def change_terms(self) -> None:
        """Change a rule, a level or a point limit at random."""
        chosen = self.random.randint(0, 5)
        rule = self.random.choice(list(EarningRule.objects.filter(brand=self.brand, state="active").order_by("pk")))
        if chosen in {0, 1}:
            rule.reward_value = min(Decimal(9), rule.reward_value + 1)
            rule.save()
        elif chosen == 2:
            rule.limits = [{"per": "member", "what": "points", "period": "week", "most": 15}]
            rule.save()
        elif chosen == 3:
            level = self.random.choice(list(BrandLevel.objects.filter(brand=self.brand)))
            level.scan_reward_value += 1
            level.save()
        elif chosen == 4:
            limit = self.random.choice([None, 12, 30])
            Brand.objects.filter(pk=self.brand.pk).update(
                daily_point_limit=limit, monthly_point_limit=limit and MONTHLY_LIMIT
            )
        else:
            EarningRule.objects.filter(pk=rule.pk).update(priority=rule.priority + 1)


def simulate_weeks(
    brand: Brand,
    seed: int,
    *,
    weeks: int = 4,
    actions: int = 30,
    changes: bool = True,
    returns: bool = True,
    **campaign: Any,
) -> History:
    """Simulate weeks with rules of all effects, actions, a new member and a change in the middle of each week."""
    factories.event_kind(brand, minutes="whole")
    history = History(brand, seed, **campaign)
    serums = {"all": [{"field": "category", "operator": "in", "value": ["Serums"]}]}
    history.rule("scan-auth", "multiplier", 2, conditions=serums)
    history.rule("scan-auth", "bonus", 4, conditions={"all": [{"field": "nth", "operator": "every", "value": 3}]})
    history.rule(
        "scan-auth", "points", 5,
        limits=[{"per": "member", "what": "points", "period": "day", "most": 8},
                {"per": "rule", "what": "points", "period": "ever", "most": 61}],
    )  # fmt: skip
    silver_or_gold = {"all": [{"field": "level", "operator": "in", "value": ["Silver", "Gold"]}]}
    history.rule("order-complete", "percentage", 10, conditions=serums, basis="matching")
    history.rule("order-complete", "bonus", 3, conditions=silver_or_gold,
                 limits=[{"per": "member", "what": "events", "period": "ever", "most": 2}])  # fmt: skip
    history.rule("log-user-login", "points", 2)
    history.rule("log-user-profile-update", "points", 3,
                 limits=[{"per": "member", "what": "points", "period": "ever", "most": 7}])  # fmt: skip
    history.rule("milestone", "multiplier", 2)
    history.rule("member-welcome", "points", 20)
    long_visit = {"all": [{"field": "payload.minutes", "operator": "at_least", "value": 10}]}
    history.rule("store-visit", "points", 4, conditions=long_visit)
    history.rule("store-visit", "bonus", 3, conditions={"all": [{"field": "nth", "operator": "every", "value": 2}]})
    for week in range(weeks):
        history.act(actions // 2, returns=returns)
        history.join()
        if changes:
            history.change_terms()
        history.act(actions - actions // 2, returns=returns)
        if week < weeks - 1:
            shift_one_week_back()
    return history
