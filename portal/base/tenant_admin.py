"""The base of all portal pages: it limits each to the brands and the role of the current user."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin import ShowFacets
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.core.exceptions import FieldDoesNotExist, PermissionDenied
from django.db.models import DateField, DateTimeField, ForeignKey, Model, Q, QuerySet
from django.forms import HiddenInput
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import SimpleTemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from brands.identity import roles
from brands.identity.roles import ACT, ADD, CHANGE, DELETE, VIEW, BrandScope
from brands.models.audit import AuditLogEntry
from brands.models.tenants import Brand
from core.errors import DomainError
from core.forms.digits import AsciiDigits
from core.numbers import is_id
from portal.base import brand_choice
from portal.base.forms import Lookup, TenantForm
from portal.base.gone_rows import MAX_ROWS, BoundedTable, GoneRowsMixin, RowGone, conflict_text
from portal.base.scripts import WithoutSlugScripts
from portal.base.sidebar import SidebarEntry
from portal.base.stale_forms import VersionedForm
from portal.base.tenant_scope import brands_by_page
from portal.lists.changelist import Count, CountedChangeList, EstimatingPaginator
from portal.lists.customer_search import CustomerSearchMixin
from portal.lists.filters import OwnRowsFilter
from portal.lists.keyset_changelist import KeysetChangeList
from portal.lists.local_time import DayColumn, MomentColumn
from portal.lists.number_columns import GroupedNumbers, NumberColumn, is_number
from portal.lists.queries import KnownFiltersMixin
from portal.unfold import ModelForm, TabularInline

MAX_AT_ONCE = 1000  # rows that one action changes in one request


class RowForm(AsciiDigits, ModelForm):
    """A row of a table inside a form."""


class Scope(GroupedNumbers):
    """The common part of pages and their inline tables: permissions by role, and choices within the brand scope."""

    opts: Any
    admin_site: Any
    lookups: ClassVar[dict[str, type[Lookup]]] = {}  # by field, if a page offers fewer rows than the related page

    def brand_scope(self, request: HttpRequest, verbs: str) -> BrandScope:
        """The brands where the user may do any of `verbs` with the page's rows."""
        return roles.brand_scope(request.user, verbs, self.opts.label_lower)

    def may(self, request: HttpRequest, verb: str, obj: Any = None) -> bool:
        """Whether the user may do this anywhere or, given a row (an inline table's is the page's), with that row."""
        within = self.brand_scope(request, verb)
        return bool(within) if obj is None else page_of(obj, self.admin_site).brand_id_of(obj) in within

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may(request, VIEW, obj)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may(request, ADD, obj)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may(request, CHANGE, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may(request, DELETE, obj)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.may(request, VIEW)

    def has_act_permission(self, request: HttpRequest) -> bool:
        return self.may(request, ACT)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Remove a choice's links: changing or deleting the related row would affect all rows that refer to it."""
        field = super().formfield_for_dbfield(db_field, request, **options)
        if field and isinstance(field.widget, RelatedFieldWidgetWrapper):
            wrapper = field.widget
            wrapper.can_change_related = wrapper.can_delete_related = wrapper.can_view_related = False
        return field

    def formfield_for_foreignkey(self, db_field: "ForeignKey[Any, Any]", request: HttpRequest, **options: Any) -> Any:
        """Choices are the related page's rows, of the brands where this form may be saved."""
        related = self.admin_site.get_model_admin(db_field.remote_field.model)
        options["queryset"] = related.choices(request, self.brand_scope(request, ADD + CHANGE))
        if db_field.name in self.get_autocomplete_fields(request):  # type: ignore[attr-defined]
            options["widget"] = self.lookups.get(db_field.name, Lookup)(db_field, self.admin_site)
        return super().formfield_for_foreignkey(db_field, request, **options)  # type: ignore[misc]


class TenantAdmin(Scope, WithoutSlugScripts, CustomerSearchMixin, KnownFiltersMixin, GoneRowsMixin):
    """A page of the portal."""

    role_permissions: ClassVar[Mapping[str, str]] = {}  # role -> what it may do with the rows: see roles.VERBS
    sidebar: SidebarEntry | None = None
    sidebar_view = "changelist"  # where the entry leads
    list_name: Any = ""  # the name of the list in the sidebar, if it is not the plural of its rows
    brand_path = "brand"  # from a row to its brand, as a filter path
    opens_in_drawer = False  # for rows that are read one after another
    pages_by_key = False  # for lists that grow without limit; their order uses columns that are never NULL
    form = TenantForm
    other_parameters: ClassVar[tuple[str, ...]] = ()  # query parameters of the list that are not filters
    paginator = EstimatingPaginator
    show_full_result_count = False
    show_facets = ShowFacets.NEVER  # facets count every choice of every filter
    list_per_page = 30
    list_filter_submit = True
    list_select_related: ClassVar[tuple[str, ...]] = ()
    compressed_fields = False  # labels above their fields
    warn_unsaved_form = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return self.brand_scope(request, VIEW).of(super().get_queryset(request), self.brand_path)

    def keyset_partitions(self, request: HttpRequest) -> list[Q]:
        """Partitions of a list by key: the order of each has an index, while the order of all together has none."""
        return [Q()]

    def known_count(self, request: HttpRequest, changes: CountedChangeList) -> Count | None:
        """The number of rows of a list by key, if other code has counted them."""
        return None

    def with_sort_keys(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Joined with the rows that hold the sort keys of a list by key, for pages that have such rows."""
        return rows

    def with_related(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """With related data that the list's page shows; omitted while the rows' keys are selected."""
        return rows

    def choices(self, request: HttpRequest, within: BrandScope) -> QuerySet[Any]:
        """This page's rows as choices in another page's form."""
        return within.of(self.get_queryset(request), self.brand_path)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """A missing row and another brand's row result in the same 404, before any other answer."""
        result = super().get_object(request, object_id, from_field) if object_id.isascii() else None
        if result is None:
            raise Http404
        return result

    def addressed_row(self, request: HttpRequest, object_id: str | None) -> Any:
        """The row in the address of a page; None on a list's page. Raises Http404 as `get_object`."""
        return None if object_id is None else self.get_object(request, str(object_id))

    def has_act_on_row_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        row = self.addressed_row(request, object_id)
        return row is not None and self.may(request, ACT, row)

    def brand_id_of(self, obj: Any) -> int | None:
        *way, last = self.brand_path.split("__")
        for step in way:
            obj = getattr(obj, step)
        result: int | None = obj.pk if last == "pk" else getattr(obj, f"{last}_id")
        return result

    def works_for_several(self, request: HttpRequest) -> bool:
        within = roles.brand_scope(request.user, VIEW, "brands.brand")
        return within.everywhere or len(within.brand_ids) > 1

    def has_brand_column(self, request: HttpRequest) -> bool:
        return self.brand_path != "pk" and self.works_for_several(request)

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """Users with several brands see each row's brand. Every moment is in its brand's zone."""
        columns = [self.column(request, name) for name in super().get_list_display(request)]
        return [*columns, *([self.brand_path] if self.has_brand_column(request) else [])]

    def column(self, request: HttpRequest, name: Any) -> Any:
        try:
            field = self.opts.get_field(name)
        except FieldDoesNotExist:
            return name
        if is_number(field):
            return NumberColumn(field)
        if not isinstance(field, DateTimeField):
            return DayColumn(field) if isinstance(field, DateField) else name
        zones = {brand.pk: brand.zone for brand in self.brands_seen(request)}
        return MomentColumn(field, zones, self.brand_id_of)

    def brands_seen(self, request: HttpRequest) -> list[Brand]:
        """The brands whose rows the user sees here. One query per request."""
        seen = brands_by_page(request)
        if self.opts.label_lower not in seen:
            within = self.brand_scope(request, VIEW)
            seen[self.opts.label_lower] = list(within.of(Brand.objects.all(), "pk")) if within else []
        return seen[self.opts.label_lower]

    def brand_seen(self, request: HttpRequest, brand_id: str) -> Brand | None:
        """The brand with an ID from a request, if the user sees its rows here."""
        if not is_id(brand_id):
            return None
        return self.brand_scope(request, VIEW).of(Brand.objects.all(), "pk").filter(pk=brand_id).first()

    def get_sortable_by(self, request: HttpRequest) -> Any:
        """Long lists cannot be sorted by columns without an index: that would read all rows."""
        if self.sortable_by is None and self.pages_by_key:
            return []
        offered = super().get_sortable_by(request)
        return offered if self.sortable_by is None else [self.column(request, name) for name in offered]

    def get_changelist(self, request: HttpRequest, **_more: Any) -> type[CountedChangeList]:
        return KeysetChangeList if self.pages_by_key else CountedChangeList

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        filters = super().get_list_filter(request)
        return [*filters, *([(self.brand_path, OwnRowsFilter)] if self.has_brand_column(request) else [])]

    def get_list_select_related(self, request: HttpRequest) -> list[str]:
        own = [self.brand_path] if self.has_brand_column(request) else []
        return [*self.list_select_related, *own]

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Rows are deleted one by one, each on a page that says what else is deleted."""
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """The brand of a row cannot be changed."""
        fields = super().get_readonly_fields(request, obj)
        return [*fields, *(["brand"] if obj and self.brand_path == "brand" else [])]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """The brand field is only shown if there are several to choose from."""
        field = super().formfield_for_dbfield(db_field, request, **options)
        if db_field.name == self.brand_path and brand_choice.only_brand(self, request):
            field.widget = HiddenInput()
        return field

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        brand_id = brand_choice.only_brand(self, request)
        only = {"brand": brand_id} if brand_id else {}
        return {**super().get_changeform_initial_data(request), **only}

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, *where: Any, **more: Any
    ) -> HttpResponse:
        """An error that the form could not foresee, because another user was faster, is shown on a new form.

        Moments are shown and read in the zone of the row's brand.
        """
        with timezone.override(self.zone_of(request, object_id)):
            try:
                with conflict_text():
                    response = super().changeform_view(request, object_id, *where, **more)
            except RowGone as error:
                self.message_user(request, error.message, messages.ERROR)
                return redirect(f"admin:{self.url_name('changelist')}")
            except DomainError as error:
                self.message_user(request, error.message, messages.ERROR)
                return redirect(request.get_full_path())
            return response.render() if isinstance(response, SimpleTemplateResponse) else response

    def zone_of(self, request: HttpRequest, object_id: str | None) -> tzinfo:
        """The zone in which the form's moments are shown and read."""
        return brand_choice.zone_of_form(self, request, object_id)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        if options.get("add"):
            brand_choice.leave_zone_to_brand(self, request, context["adminform"].form)
        return super().render_change_form(request, context, *args, **options)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        """An error is shown on the row's own page, if the row still exists."""
        try:
            with conflict_text():
                return super().delete_view(request, object_id, extra_context)
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
            return redirect(f"admin:{self.url_name('change')}", object_id)

    def save_form(self, request: HttpRequest, form: Any, change: Any) -> Any:
        """Detect a concurrent save: both forms found the row unchanged. The second is rejected."""
        obj = super().save_form(request, form, change)
        row = self.row_before(request, obj) if change else None
        if row is not None and isinstance(form, VersionedForm):
            form.check_unchanged(row)
        return obj

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's
        """Save only the changed fields of an existing row: scans and workers may have changed others."""
        if not self.may(request, CHANGE if change else ADD, obj):
            raise PermissionDenied
        if change:
            stored = {field.name for field in self.opts.concrete_fields}
            self.store(obj, stored.intersection(form.changed_data))
        else:
            vars(obj).update(vars(self.create(request, obj, form)))

    def create(self, request: HttpRequest, obj: Any, form: Any) -> Model:
        """Store a new row. Pages override it if other code must write their rows; it may raise DomainError."""
        obj.save()
        made: Model = obj
        return made

    def store(self, obj: Any, fields: set[str]) -> None:
        """Store these fields of an existing row. A page overrides it if other code is the only writer of its rows."""
        obj.save(update_fields=fields)

    def chosen(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        """The rows that an action may change; none, with a message, if they are too many for one request."""
        rows = list(self.brand_scope(request, ACT).of(queryset, self.brand_path)[: MAX_AT_ONCE + 1])
        if len(rows) <= MAX_AT_ONCE:
            self.remember(request, rows)
            return rows
        message = _("Nothing was changed: choose at most %(most)d rows at once.") % {"most": MAX_AT_ONCE}
        self.message_user(request, message, messages.ERROR)
        return []

    def report(self, request: HttpRequest, changed: Sequence[Any], what: str, *, reason: str = "") -> None:
        """Report how many rows an action changed, and record it in their history. `what`: marked with gettext_noop."""
        self.record_action(request, changed, what, reason=reason)
        self.message_user(request, f"{_(what)}: {len(changed)}")

    def history_of(self, request: HttpRequest, obj: Any) -> QuerySet[AuditLogEntry]:
        """The history of a row, as far as it happened in this user's brands."""
        entries = AuditLogEntry.objects.filter(kind=self.opts.label_lower, row_id=str(obj.pk))
        return self.brand_scope(request, VIEW).of(entries, "brand")


class TenantInline(Scope, TabularInline):
    """An inline table. Its rows belong to the page's row, and so to that row's brand."""

    role_permissions: ClassVar[Mapping[str, str]] = {}
    extra = 0
    form: type[ModelForm] = RowForm
    formset = BoundedTable

    def get_formset(self, request: HttpRequest, obj: Any = None, **options: Any) -> Any:
        """Limit the number of rows, whatever count a form sends."""
        options = {"max_num": MAX_ROWS, "absolute_max": MAX_ROWS, **options}
        return super().get_formset(request, obj, **options)


def page_of(obj: Model, admin_site: Any) -> TenantAdmin:
    """The page that shows rows such as `obj`."""
    page: TenantAdmin = admin_site.get_model_admin(type(obj))
    return page
