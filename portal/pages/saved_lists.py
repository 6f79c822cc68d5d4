"""Page: lists that staff saved with their filters, to open again by name."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import SuspiciousOperation, ValidationError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.identity.roles import ADD, VIEW, brand_scope
from brands.models.people import User
from brands.models.saved_lists import SavedList
from brands.models.tenants import Brand
from core.errors import DomainError
from core.numbers import is_id
from core.texts import shortened
from portal.base.forms import TenantForm
from portal.base.links import admin_address, link
from portal.base.sidebar import SETTINGS, SidebarEntry, list_name
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user
from portal.import_export.exportable import ExportingAdmin, within
from portal.saved_lists import queries, rows
from portal.unfold import action, display

MAX_SAVED = 100  # lists of one user at one brand


class SavedListForm(TenantForm):
    """The name of a saved list, and whether it is shared."""

    user: User  # who submits the form


class NewSavedListForm(SavedListForm):
    """The same, with what is saved: a list and the query string of its address, which the list must accept."""

    list = forms.CharField(max_length=100, widget=forms.HiddenInput)
    address = forms.CharField(required=False, max_length=queries.MAX_QUERY_LENGTH, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        page, brand = queries.page_of(cleaned.get("list", "")), cleaned.get("brand")
        if page is None or not brand_scope(self.user, VIEW, page.opts.label_lower):
            raise ValidationError(_("There is no such list. Open a list and choose Save this list."))
        if not brand or self.errors:
            return cleaned
        if brand.pk not in brand_scope(self.user, VIEW, page.opts.label_lower):
            self.add_error("brand", _("You do not have access to this list for this brand."))
            return cleaned
        self.instance.owner, self.instance.model_label = self.user, page.opts.label_lower
        self.instance.query = self.checked_query(page, cleaned.get("address", ""))
        if SavedList.objects.filter(brand=brand, owner=self.user).count() >= MAX_SAVED:
            raise ValidationError(_("You have saved %(most)d lists. Delete one first.") % {"most": MAX_SAVED})
        return cleaned

    def checked_query(self, page: TenantAdmin, address: str) -> queries.Values:
        """Raises ValidationError for parameters that the list's own filters do not accept."""
        try:
            values = queries.read(page, address)
        except DomainError as error:
            raise ValidationError(error.message) from error
        if names := queries.rejected(self.user, page, values):
            message = _("The list does not support these filters: %(names)s. Nothing was saved.")
            raise ValidationError(message % {"names": shortened([name[:60] for name in names])})
        return values

    def _get_validation_exclusions(self) -> set[str]:
        return super()._get_validation_exclusions() - {"owner"}


@admin.register(SavedList)
class SavedListAdmin(TenantAdmin):
    role_permissions: ClassVar = {
        "owner": "view add change delete stop",
        "manager": "view add change delete",
        "printer": "view add change delete",
        "support": "view add change delete",
    }
    sidebar = SidebarEntry(SETTINGS, 14, "bookmark", tab=False)
    list_display = ("name", "list_title", "is_shared", "owner", "link")
    list_select_related = ("owner",)
    search_fields = ("name",)
    actions_detail = ("schedule",)
    fieldsets = ((None, {"fields": ("brand", "name", "is_shared", "list_title", "filters", "owner", "link")}),)
    add_fieldsets = ((None, {"fields": ("brand", "name", "is_shared", "list", "address")}),)
    readonly_fields = ("list_title", "filters", "owner", "link")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(pk__in=rows.visible_to(request.user).values("pk"))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Only its owner may rename or share a list."""
        return super().has_change_permission(request, obj) and (obj is None or obj.owner_id == request.user.pk)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request) if obj is None else rows.may_delete(staff_user(request), obj)

    def own_views(self) -> dict[str, Any]:
        return {"open": ("<id:pk>/open/", self.open), **super().own_views()}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """No add button: a list is saved on the list itself."""
        return super().changelist_view(request, {"has_add_permission": False, **(extra_context or {})})

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.method != "POST" and queries.page_of(request.GET.get("list", "")) is None:
            self.message_user(request, _("Open a list, set its filters and choose Save this list."), messages.INFO)
        return super().add_view(request, form_url, {"title": _("Save this list"), **(extra_context or {})})

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002
        if obj:
            obj.filter_lines = queries.displayed_filters(staff_user(request), obj.model_label, obj.query)
        kind = SavedListForm if obj else NewSavedListForm
        form = type(f"Bound{kind.__name__}", (kind,), {"user": staff_user(request)})
        return super().get_form(request, obj, change, form=form, **options)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Preset the brand that the list is filtered by, for users who work for several."""
        result = super().get_changeform_initial_data(request)
        page = queries.page_of(request.GET.get("list", ""))
        if page and not result.get("brand"):
            address = request.GET.get("address", "")[: queries.MAX_QUERY_LENGTH]
            result["brand"] = brand_of(page, address, brand_scope(request.user, ADD, rows.LABEL))
        return result

    def open(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Redirect to the list, without filters that it no longer accepts."""
        saved = self.get_object(request, str(pk))
        page = queries.page_of(saved.model_label)
        if page is None:
            raise Http404
        values = dict(saved.query)
        names = queries.rejected(staff_user(request), page, values)
        if names:
            called = queries.filter_names(staff_user(request), page, names)
            message = _("Filters left out of “%(list)s” because they no longer work: %(filters)s.")
            self.message_user(request, message % {"list": saved, "filters": called}, messages.WARNING)
        query = queries.address_query({name: each for name, each in values.items() if name not in names})
        if page.has_brand_column(request):
            query[queries.brand_parameter(page)] = str(saved.brand_id)
        where = admin_address(page.opts.label_lower, "changelist")
        return redirect(f"{where}?{query.urlencode()}" if query else where)

    @display(description=gettext_lazy("list"), ordering="model_label")
    def list_title(self, saved: SavedList) -> str:
        page = queries.page_of(saved.model_label)
        return list_name(page) if page else saved.model_label

    @display(description=gettext_lazy("filters"))
    def filters(self, saved: SavedList) -> SafeString | str:
        lines = getattr(saved, "filter_lines", ())
        return format_html_join(SafeString("<br>"), "{}", ([line] for line in lines)) or _("No filters: all rows.")

    @display(description=gettext_lazy("open"))
    def link(self, saved: SavedList) -> SafeString:
        message = _("Open %(list)s") % {"list": saved}
        return link(reverse("admin:brands_savedlist_open", args=[saved.pk]), _("Open"), label=message)

    def has_schedule_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        """Whether this user can export the list."""
        saved = self.addressed_row(request, object_id)
        if saved is None or not isinstance(queries.page_of(saved.model_label), ExportingAdmin):
            return False
        return saved.brand_id in within(request.user, saved.model_label)

    @action(
        description=gettext_lazy("Send on a schedule"),
        url_path="schedule",
        icon="schedule_send",
        permissions=["schedule"],
    )
    def schedule(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return redirect(reverse("admin:jobs_reportschedule_add") + f"?saved_list={int(object_id)}")


def brand_of(page: TenantAdmin, address: str, scope: Any) -> Brand | None:
    """The only brand that the list shows, if a saved list may belong to it."""
    try:
        chosen = QueryDict(address).get(queries.brand_parameter(page), "")
    except SuspiciousOperation:
        return None
    return scope.of(Brand.objects.filter(pk=chosen), "pk").first() if is_id(chosen) else None
