"""Pages that record which codes of a batch were delivered to shops, and that undo such a delivery."""

from collections.abc import Callable

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes.admin.batches.links import DELIVERY_TITLES
from authcodes.admin.codes import bulk_actions
from authcodes.admin.codes.bulk_forms import ChangeRangeForm, CodeRangeForm
from authcodes.codes import deliveries
from authcodes.codes.deliveries import MAX_PLACE_LENGTH
from authcodes.codes.ranges import CodeRange, resolve_range
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from portal.base.forms import DayField
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user
from portal.unfold import TextWidget

Kind = CodeChange.Kind


class DeliveryForm(CodeRangeForm):
    """The delivered codes, the day and the place."""

    day = DayField(
        label=gettext_lazy("Day"), help_text=gettext_lazy("The day on which the products left for the shops.")
    )
    place = forms.CharField(
        label=gettext_lazy("Shop or region"),
        required=False,
        max_length=MAX_PLACE_LENGTH,
        widget=TextWidget,
        help_text=gettext_lazy("For example: Berlin Mitte. Shown to staff in the codes' history."),
    )


class BatchDeliveries(TenantAdmin):
    """Mixin of the batch admin: the delivery pages."""

    def deliver(self, request: HttpRequest, pk: int) -> HttpResponse:
        batch = self.get_object(request, str(pk))
        today = batch.brand.day_at(timezone.now())
        initial = {**bulk_actions.chosen_range(request, batch), "day": today.isoformat()}
        form = DeliveryForm(request.POST or None, initial=initial)

        def act(codes: CodeRange) -> int:
            if form.cleaned_data["day"] > today:
                raise BatchRejected(_("The date is in the future. Enter today or earlier."), details={"field": "day"})
            day, place = form.cleaned_data["day"], form.cleaned_data["place"]
            return deliveries.deliver(codes=codes, day=day, place=place, by=staff_user(request), at=timezone.now())

        return self.render_or_save(request, batch, Kind.DELIVERED, form, act)

    def undeliver(self, request: HttpRequest, pk: int) -> HttpResponse:
        batch = self.get_object(request, str(pk))
        form = ChangeRangeForm(request.POST or None, initial=bulk_actions.chosen_range(request, batch))

        def act(codes: CodeRange) -> int:
            reason = form.cleaned_data["reason"]
            return deliveries.undo_delivery(codes=codes, reason=reason, by=staff_user(request), at=timezone.now())

        return self.render_or_save(request, batch, Kind.DELIVERY_UNDONE, form, act)

    def render_or_save(
        self,
        request: HttpRequest,
        batch: BatchRange,
        kind: CodeChange.Kind,
        form: CodeRangeForm,
        act: Callable[[CodeRange], int],
    ) -> HttpResponse:
        """Show the form, or save a valid one. If no code changes, the message says so."""
        if not bulk_actions.may_act(request, batch.brand_id):
            raise PermissionDenied
        back = reverse("admin:authcodes_batchrange_change", args=[batch.pk])
        if request.method == "POST" and form.is_valid():
            try:
                codes = resolve_range(batch=batch, first=form.cleaned_data["first"], last=form.cleaned_data["last"])
                changed = act(codes)
            except BatchRejected as error:
                form.add_domain_error(error)
            else:
                unchanged = _("These codes are in the shops already.")
                if kind == Kind.DELIVERY_UNDONE:
                    unchanged = _("None of these codes is in the shops.")
                done = bulk_actions.count_text(kind.label, changed)
                self.message_user(request, done if changed else unchanged)
                return redirect(back)
        context = {
            "original": batch,
            "title": DELIVERY_TITLES[kind],
            "is_undo": kind == Kind.DELIVERY_UNDONE,
            "form": form,
            "batch": batch,
            "back": back,
        }
        return self.render_page(request, "admin/authcodes/batch/delivery.html", context)
