"""First steps: the eight steps of a new brand, ending with a scan by the user's own phone."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from authcodes.admin.printing.access import may_print
from authcodes.dashboard import needs
from authcodes.dashboard.needs import Setup
from authcodes.models.codes import AuthCode
from authcodes.printing.qr import images
from authcodes.printing.qr.encoder import Level, symbol
from brands.identity import roles
from brands.identity.roles import ADD, CHANGE
from brands.models.tenants import Brand
from brands.tenants.hostnames import hostname_of
from portal.base.links import admin_address

PRODUCTS, BATCHES, INVITATIONS = "authcodes.product", "authcodes.batchrange", "staff_login.invitation"


@dataclass(frozen=True, slots=True)
class Step:
    title: str
    text: str
    link: str
    is_done: bool


@dataclass(frozen=True, slots=True)
class TrialScan:
    """The code offered for the first scan. `link`: the target of its QR code."""

    code: str
    link: str
    picture: SafeString


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """`next_step`: the first step that is not done. `test_scan`: set once there is a code to scan.

    `needs_address`: whether the scan waits for the brand's hostname. `address_page`: where the user may enter it.
    """

    steps: tuple[Step, ...]
    test_scan: TrialScan | None
    needs_address: bool
    address_page: str
    has_scans: bool

    @property
    def done(self) -> int:
        return sum(step.is_done for step in self.steps)

    @property
    def next_step(self) -> Step | None:
        return next((step for step in self.steps if not step.is_done), None)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What an owner or manager must do next, shown to users who may not do it."""

    title: str


def of(request: HttpRequest, brands: Sequence[Brand]) -> FirstSteps | Waiting | None:
    """The first steps, until all are done; None unless exactly one brand is shown."""
    if len(brands) != 1:
        return None
    [brand] = brands
    setup = needs.setup_of(brand, at=timezone.now())
    if not all(brand.pk in roles.brand_scope(request.user, ADD, label) for label in (PRODUCTS, BATCHES)):
        title = _("Create a product") if not setup.product else "" if setup.batch else _("Create a batch")
        return Waiting(title) if title else None
    steps = steps_of(request, brand, setup)
    if all(step.is_done for step in steps):
        return None
    is_next = setup.batch and not setup.scan
    may_see_tags = may_print(request.user, brand.pk)
    scan = trial_scan(setup.code_id) if is_next and setup.hostname and setup.code_id and may_see_tags else None
    may_enter = brand.pk in roles.brand_scope(request.user, ADD, "brands.brandhostname")
    address_page = reverse("admin:brands_brand_change", args=[brand.pk]) if may_enter else ""
    return FirstSteps(steps, scan, is_next and not setup.hostname, address_page, setup.scan)


def steps_of(request: HttpRequest, brand: Brand, setup: Setup) -> tuple[Step, ...]:
    """The steps in working order. A step that the user may not do has no link."""

    def offered(verb: str, label: str, link: str) -> str:
        return link if brand.pk in roles.brand_scope(request.user, verb, label) else ""

    def added(label: str) -> str:
        return offered(ADD, label, admin_address(label, "add"))

    brand_page = offered(CHANGE, "brands.brand", reverse("admin:brands_brand_change", args=[brand.pk]))
    messages = offered(ADD, "loyalty.notificationsettings", reverse("admin:loyalty_notificationsettings_changelist"))
    silent = _("Customers are notified only about recalls and their account.")
    scan = _("Scan a code with your phone and see what your customers will see.")
    appearance, worth, members = (
        _("The scan page shows your logo and colours."),
        _("A level sets what a scan earns."),
        _("Members redeem points for rewards."),
    )
    codes, batch = _("Codes are printed for a product."), _("A batch creates a range of codes to print.")
    return (
        Step(_("Set logo and colours"), appearance, brand_page, setup.appearance),
        Step(_("Create the first level"), worth, added("loyalty.brandlevel"), setup.level),
        Step(_("Create a product"), codes, added(PRODUCTS), setup.product),
        Step(_("Create a batch"), batch, added(BATCHES), setup.batch),
        Step(_("Create the first reward"), members, added("loyalty.reward"), setup.reward),
        Step(_("Set up notifications"), silent, messages, setup.messages),
        Step(
            _("Invite a colleague"),
            _("Your colleague receives an e-mail with a link."),
            added(INVITATIONS),
            setup.colleague,
        ),
        Step(_("Make a test scan"), scan, "", setup.scan),
    )


def trial_scan(code_id: int) -> TrialScan | None:
    code = AuthCode.objects.select_related("batch").filter(pk=code_id).first()
    hostname = hostname_of(code.brand_id) if code else ""
    if code is None or not hostname:
        return None
    text = images.payload(code=code, hostname=hostname)
    drawn = symbol(text, Level.M)
    across = images.modules_across(drawn)
    picture = format_html(
        '<svg class="test-scan-code" viewBox="0 0 {across} {across}" role="img" aria-label="{label}" '
        'shape-rendering="crispEdges">'
        '<path fill="#fff" d="M0 0h{across}v{across}h-{across}z"/><path d="{dark}"/></svg>',
        across=across,
        label=_("QR code of %(code)s") % {"code": code.code},
        dark=images.outline(drawn),
    )
    return TrialScan(code.code, text, picture)
