"""The wizard of a new batch: purpose, quantity, protection and rules; then on to printing.

It shows the fields and errors of the form of a new batch, grouped in steps.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.db.models import F, Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes.admin.batches.forms import PLAIN, PROTECTED, NewBatchForm, prefix_choices
from authcodes.admin.printing.access import may_print
from authcodes.codes import batches
from authcodes.models.batches import BatchRange
from authcodes.models.products import Product
from brands.identity.roles import ADD
from brands.models.tenants import Brand
from core.numbers import is_id
from loyalty.points import approvals
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user

DUPLICATE_WINDOW = timedelta(minutes=2)  # an identical batch within this time is a repeated click
CREATED_FLAG = "batch_made"  # set if this request created a batch
MAX_TITLE_IN_NAME = 100
STEPS: tuple[tuple[str, Any, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "what-for",
        gettext_lazy("1. What the codes are for"),
        ("brand", "product", "range_name"),
        ("campaign", "after_campaign"),
    ),
    (
        "how-many",
        gettext_lazy("2. How many codes"),
        ("quantity",),
        ("prefix", "starting_number", "number_width", "error_correction"),
    ),
    (
        "rules",
        gettext_lazy("3. Protection and rules"),
        ("signed",),
        ("points_per_scan", "scan_limit", "expiration_date"),
    ),
)
# The titles of the rarely changed fields, by step.
ADVANCED_TITLES = {
    "what-for": gettext_lazy("Campaign"),
    "how-many": gettext_lazy("Numbering (filled in automatically)"),
    "rules": gettext_lazy("Points, scan limit and expiration date"),
}


@dataclass(frozen=True, slots=True)
class Step:
    """`advanced_fields`: collapsed unless one of them has an error."""

    id: str
    title: Any
    fields: list[Any]
    advanced_fields: list[Any]
    advanced_title: Any
    is_open: bool


class BatchWizard(TenantAdmin):
    """Mixin of the batch admin: the wizard of a new batch."""

    add_form_template = "admin/authcodes/batch/wizard.html"

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """The product in the address with a suggested name, and unused numbers for the brand."""
        initial = super().get_changeform_initial_data(request)
        product = self.product_in_address(request)
        if product is not None:
            initial |= {"brand": product.brand_id, "product": product.pk, "range_name": name_for(product)}
        brand_id = str(initial.get("brand") or "")
        brands = self.brand_scope(request, ADD).of(Brand.objects.all(), "pk")
        brand = brands.filter(pk=brand_id).first() if is_id(brand_id) else None
        return {**(numbers_for(brand) if brand else {}), **initial}

    def product_in_address(self, request: HttpRequest) -> Product | None:
        """The product in the address, if the user may create batches for its brand."""
        chosen = request.GET.get("product", "")
        if not is_id(chosen):
            return None
        page = self.admin_site.get_model_admin(Product)
        rows = page.choices(request, self.brand_scope(request, ADD)).filter(pk=int(chosen), is_active=True)
        product: Product | None = rows.select_related("brand").first()
        return product

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.method == "POST" and (duplicate := self.recent_duplicate(request)):
            return self.redirect_after_create(request, duplicate)
        brands = list(self.brand_scope(request, ADD).of(Brand.objects.all(), "pk"))
        page_context = {
            "title": _("New batch"),
            "summary_address": reverse("admin:authcodes_batchrange_summary"),
            "code_prefixes": prefix_choices(brands),
            "begin": "how-many" if self.product_in_address(request) else "",
        }
        response: HttpResponse = super().add_view(request, form_url, {**page_context, **(extra_context or {})})
        if (
            request.method == "POST"
            and not vars(request).get(CREATED_FLAG)
            and (duplicate := self.recent_duplicate(request))
        ):
            list(messages.get_messages(request))  # drops the error message of the slower of two clicks
            return self.redirect_after_create(request, duplicate)
        return response

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        if options.get("add"):
            context["steps"] = steps_of(context["adminform"].form)
        response: HttpResponse = super().render_change_form(request, context, *args, **options)
        return response

    def recent_duplicate(self, request: HttpRequest) -> BatchRange | None:
        """The batch that this user just created with the same form: the button was pressed twice."""
        brand, name = (request.POST.get(each, "").strip() for each in ("brand", "range_name"))
        if not is_id(brand) or "\0" in name or not self.has_add_permission(request):
            return None
        rows = self.get_queryset(request).filter(
            brand=int(brand),
            range_name=name,
            created_by=staff_user(request),
            created_at__gte=timezone.now() - DUPLICATE_WINDOW,
        )
        batch: BatchRange | None = rows.first()
        if batch is None:
            return None
        # Points above the ceiling are not in the batch yet.
        signed = PROTECTED if batch.is_signed else PLAIN
        created_with = {"signed": signed, **approvals.requested_values(batch)}
        form = self.get_form(request)(request.POST, instance=batch, initial=created_with)
        return None if form.has_changed() else batch

    def create(self, request: HttpRequest, obj: BatchRange, form: NewBatchForm) -> BatchRange:
        """A small batch is generated at once, so that it can be printed right away; a worker generates a large one."""
        by = staff_user(request)
        # The ceiling may have lowered the row's points until a second person approves those of the form.
        requested = replace(form.batch_settings(), points_per_scan=obj.points_per_scan)
        made = batches.create_batch(brand=obj.brand, batch_settings=requested, at=timezone.now(), by=by)
        if made.quantity <= batches.MADE_AT_ONCE:
            batches.generate(batch_id=made.pk, at=timezone.now())
        else:
            batches.start_generation(batch=made, by=by)
        return made

    def response_add(self, request: HttpRequest, obj: BatchRange, post_url_continue: str | None = None) -> HttpResponse:
        setattr(request, CREATED_FLAG, True)
        if "_popup" in request.POST:
            return super().response_add(request, obj, post_url_continue)
        return self.redirect_after_create(request, obj)

    def redirect_after_create(self, request: HttpRequest, batch: BatchRange) -> HttpResponse:
        """Redirect to printing, or to the batch's page while its codes are being made."""
        made = BatchRange.objects.get(pk=batch.pk)
        if made.is_generated and may_print(request.user, made.brand_id):
            text = _("Batch created. Print its codes here, or later from its page.")
            self.message_user(request, text)
            return redirect("admin:authcodes_printrun_batch", made.pk)
        self.message_user(request, _("Batch created. Its codes are being generated: this page shows the progress."))
        return redirect("admin:authcodes_batchrange_change", made.pk)


def steps_of(form: Any) -> list[Step]:
    """The steps, with the fields that the user may fill in."""
    steps = []
    for name, title, usual, folded in STEPS:
        fields, advanced_fields = ([form[each] for each in names if each in form.fields] for names in (usual, folded))
        is_open = any(bound.errors for bound in advanced_fields)
        steps.append(Step(name, title, fields, advanced_fields, ADVANCED_TITLES[name], is_open))
    return steps


def name_for(product: Product) -> str:
    """An unused batch name: product and month, with a number if that name is taken."""
    at: datetime = timezone.localtime(timezone.now(), product.brand.zone)
    stem = f"{product.title[:MAX_TITLE_IN_NAME]}, {date_format(at, 'F Y')}"
    rows = BatchRange.objects.filter(brand=product.brand_id, range_name__startswith=stem)
    taken = set(rows.values_list("range_name", flat=True))
    names = [stem, *(f"{stem} ({number})" for number in range(2, len(taken) + 2))]
    return next(name for name in names if name not in taken)


def numbers_for(brand: Brand) -> dict[str, Any]:
    """The numbering of the brand's last batch, continued; for a first batch, a prefix from the brand's slug."""
    own = BatchRange.objects.filter(brand=brand, printed_elsewhere=False)
    last = own.order_by("-pk").first()
    if last is None:
        letters = "".join(letter for letter in brand.slug.upper() if letter.isascii() and letter.isalnum())[:4]
        return {"prefix": f"{letters}-" if letters else ""}
    ends = own.filter(prefix=last.prefix).aggregate(end=Max(F("starting_number") + F("quantity")))
    next_number = ends["end"]
    width = max(last.number_width, len(str(next_number)))
    return {"prefix": last.prefix, "starting_number": next_number, "number_width": min(width, 18)}
