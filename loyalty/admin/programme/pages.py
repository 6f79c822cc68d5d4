"""Pages: the programme's figures and accounting, the points by day, and the cost of a point."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.identity import roles
from brands.identity.roles import ADD
from brands.models.tenants import Brand
from core import languages
from core.errors import DomainError
from loyalty.admin.programme.overview import COSTS, PeriodForm, Programme
from loyalty.models.programme.costs import PointCost
from loyalty.models.programme.rollups import PointsRollup
from loyalty.programme import figures, roll_forward
from loyalty.programme.movements import CHOICES
from portal.base.sidebar import PROGRAMME, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.import_export.downloads import as_attachment
from portal.lists.field_column import attribute_column
from portal.lists.filters import StateFilter
from portal.unfold import display


class MovementFilter(StateFilter):
    """By the name of a movement."""

    title = gettext_lazy("movement")
    parameter_name = "of"
    states: ClassVar = CHOICES

    def condition(self, value: str, brands: Sequence[Brand]) -> Q:
        return Q(movement=value)


@admin.register(PointsRollup)
class ProgrammeAdmin(TenantAdmin):
    """The programme page, and the list of days that its figures add up."""

    role_permissions: ClassVar = {"owner": "view", "manager": "view"}
    sidebar = SidebarEntry(PROGRAMME, 1, "monitoring")
    sidebar_view = "programme"
    list_name = gettext_lazy("programme overview")
    list_display = ("day", "movement_name", "points", "entries")
    list_filter = (MovementFilter,)
    fields = ("brand", ("day", "movement_name"), ("points", "entries"))

    @display(description=gettext_lazy("movement"))
    def movement_name(self, row: PointsRollup) -> str:
        return str(CHOICES.get(row.movement, row.movement))

    def own_views(self) -> dict[str, Any]:
        return {
            "programme": ("programme/", self.programme),
            "roll_forward_csv": ("roll-forward.csv", self.as_csv),
            "roll_forward_pdf": ("roll-forward.pdf", self.as_pdf),
            **super().own_views(),
        }

    def requested(self, request: HttpRequest) -> PeriodForm:
        """The requested brand and months. Raises PermissionDenied if the user may see no brand's programme."""
        brands = sorted(self.brands_seen(request), key=lambda brand: (brand.name, brand.pk))
        if not brands:
            raise PermissionDenied
        return PeriodForm(request.GET, brands=brands, at=timezone.now())

    def programme(self, request: HttpRequest) -> HttpResponse:
        form = self.requested(request)
        brand, (first, last) = form.chosen, form.months
        result = figures.figures(brand=brand, first=first, last=last, at=form.at)
        displayed = Programme(request, brand, result, several=self.works_for_several(request))
        query = f"?brand={brand.pk}&first={result.months[0].month:%Y-%m}&last={result.last.month:%Y-%m}"
        context = {
            "title": _("Programme overview"),
            "form": form,
            "narrowed": any(request.GET.values()),
            "overview": displayed,
            "brand": brand,
            "may_set_cost": brand.pk in roles.brand_scope(request.user, ADD, COSTS),
            "downloads": {
                kind: reverse(f"admin:loyalty_pointsrollup_roll_forward_{kind}") + query for kind in ("csv", "pdf")
            },
        }
        return self.render_page(request, "admin/loyalty/programme/overview.html", context)

    def as_csv(self, request: HttpRequest) -> HttpResponse:
        form = self.requested(request)
        content = roll_forward.as_csv(self.lines(form))
        answer = HttpResponse(content, content_type="text/csv; charset=utf-8")
        return as_attachment(answer, f"{self.file_name(form)}.csv")

    def as_pdf(self, request: HttpRequest) -> HttpResponse:
        form = self.requested(request)
        try:
            with languages.in_english():  # an auditor may read another language than the user who exports it
                content = roll_forward.as_pdf(brand=form.chosen, lines=self.lines(form), at=form.at)
        except DomainError as error:
            self.message_user(request, error.message, "ERROR")
            return redirect(f"{reverse('admin:loyalty_pointsrollup_programme')}?{request.GET.urlencode()}")
        return as_attachment(HttpResponse(content, content_type="application/pdf"), f"{self.file_name(form)}.pdf")

    def lines(self, form: PeriodForm) -> list[roll_forward.Month]:
        brand, (first, last) = form.chosen, form.months
        return roll_forward.months(brand=brand, first=first, last=last, at=form.at)

    def file_name(self, form: PeriodForm) -> str:
        brand, (first, last) = form.chosen, form.months
        return f"roll-forward-{brand.slug}-{first:%Y-%m}-{last:%Y-%m}"


@admin.register(PointCost)
class PointCostAdmin(TenantAdmin):
    """The cost of a point. The rows are its history, so a new cost is a new row."""

    role_permissions: ClassVar = {"owner": "view add change delete", "manager": "view"}
    sidebar = SidebarEntry(PROGRAMME, 12, "payments", tab=False)
    list_display = ("valid_from", "cost", "currency")
    list_select_related = ("brand",)
    fieldsets = ((None, {"fields": ("brand", ("valid_from", "cost"))}),)

    currency = attribute_column("brand.currency", description=gettext_lazy("currency"))
