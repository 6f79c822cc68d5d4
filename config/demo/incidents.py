"""Incidents for a demo brand's staff: a recall, a copied code, guessed codes, a blocked member."""

import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial

from authcodes.fraud import fake_reports
from authcodes.models.batches import BatchRange
from authcodes.recalls import recalls
from brands.audit_log import AuditContext
from config.demo.history import DAYS, Action, History
from config.demo.people import FAR_AWAY
from loyalty.members import changes
from loyalty.models.accounts import UserPoints
from loyalty.points import adjustments


class Incidents:
    def __init__(self, history: History) -> None:
        self.history = history

    def actions(self) -> Iterator[tuple[datetime, Action]]:
        """All incidents with their moments, unordered."""
        yield self.history.moment(DAYS - 24), self.recall
        for number in range(6):
            yield self.history.moment(DAYS - 22 + number * 3), self.scan_withdrawn
        for number in range(14):
            yield self.history.until - timedelta(hours=40 - 2 * number), self.scan_copy
        for number in range(9):
            yield self.history.until - timedelta(hours=5, minutes=9 - number), partial(self.guess, number)
        yield self.history.until - timedelta(hours=12), self.report_fake
        yield self.history.moment(DAYS - 30), self.compensate_a_member
        yield self.history.moment(DAYS - 11), self.block_a_member
        yield self.history.moment(DAYS - 8), self.history.return_order

    def recall(self, at: datetime) -> None:
        for number, code in enumerate(self.history.withdrawn[:25]):
            self.scan_as_member(code, at - timedelta(minutes=30 + number))
        self.history.deliver()
        batch = BatchRange.objects.get(brand=self.history.brand, range_name="Lot 7")
        recalls.recall_batch(
            batch=batch,
            recall_id=f"{self.history.life.prefix}-7",
            contact=self.history.brand.support_email,
            message="The lid may break. Please bring this product back: we replace it.",
            reason="Lids of lot 7 break when dropped.",
            at=at,
            by=self.history.staff.get("owner"),
        )

    def scan_withdrawn(self, at: datetime) -> None:
        self.scan_as_member(self.history.random.choice(self.history.withdrawn), at)

    def scan_as_member(self, code: str, at: datetime) -> None:
        customer, city = self.history.regular()
        self.history.scan(code, at, city, customer)

    def scan_copy(self, at: datetime) -> None:
        """Scan the same code at distant places within two days."""
        copied = self.history.scanned[0]
        self.history.scan(copied, at, self.history.random.choice(FAR_AWAY))

    def guess(self, number: int, at: datetime) -> None:
        """Guess codes by counting up."""
        self.history.scan(f"{self.history.life.prefix}-{2_500 + number:06}", at, FAR_AWAY[0])

    def report_fake(self, at: datetime) -> None:
        fake_reports.report(
            brand_id=self.history.brand.pk,
            scanned=self.history.scanned[0],
            place="A stall at the market",
            remark="The print looks blurred, and the box was open.",
            contact="",
            user_id=None,
            at=at,
        )

    def compensate_a_member(self, at: datetime) -> None:
        account = UserPoints.objects.get(brand=self.history.brand, user=self.history.customers[1][0])
        context = AuditContext(self.history.staff.get("manager"), at, reason="Parcel came late")
        adjustments.adjust(account=account, points=Decimal(20), key=uuid.uuid4(), audit_context=context)

    def block_a_member(self, at: datetime) -> None:
        member = UserPoints.objects.get(brand=self.history.brand, user=self.history.customers[-12][0])
        context = AuditContext(self.history.staff.get("manager"), at, reason="Sells codes on the internet")
        changes.set_status(member=member, status=UserPoints.Status.BLOCKED, audit_context=context)
