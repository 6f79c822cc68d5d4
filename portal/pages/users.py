"""Page: people. A brand's staff see its customers and colleagues, but not what those people are at other brands."""

from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.auth import admin as django_pages  # noqa: F401 - registers the page that is removed below
from django.contrib.auth.forms import SetPasswordMixin
from django.contrib.auth.models import Group
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from brands import audit_log
from brands.audit_log import Changes
from brands.identity import customer_search
from brands.identity.roles import ADD, VIEW, BrandScope, brand_scope
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from brands.staff_login import staff
from core.db import row_guard
from core.errors import Invalid
from portal.base.forms import TenantForm
from portal.base.sidebar import SETTINGS, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user
from portal.lists import local_time
from portal.lists.queries import report_search_error
from portal.unfold import DropdownFilter, PasswordWidget, SelectWidget, action, display

# Roles are defined in roles.TABLE; Django's groups would be a second source.
admin.site.unregister(Group)


class KindFilter(DropdownFilter):
    title = _("kind")
    parameter_name = "kind"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, Any]]:
        return [("staff", _("Staff")), ("customer", _("Customers"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> QuerySet[User]:
        """For a brand's staff, only their own colleagues count as staff; staff of other brands appear as customers."""
        within = brand_scope(request.user, VIEW, "brands.user")
        staff = User.objects.filter(is_staff=True) if within.everywhere else staff_of(within)
        if not self.value():
            return queryset
        if self.value() == "staff":
            return queryset.filter(pk__in=staff.values("pk"))
        if self.value() == "customer":
            return queryset.exclude(pk__in=staff.values("pk"))
        raise IncorrectLookupParameters


def password_field(label: Any, *, required: bool, help_text: Any = "") -> forms.CharField:
    widget = PasswordWidget(attrs={"autocomplete": "new-password"})
    return forms.CharField(label=label, strip=False, required=required, widget=widget, help_text=help_text)


class NewPasswordMixin(SetPasswordMixin):  # type: ignore[type-arg] # generic in the stubs only
    """Two fields for a new password, which may be left empty."""

    cleaned_data: dict[str, Any]  # this and the following are a form's
    errors: Any
    add_error: Any

    def check_passwords_match(self) -> None:
        """Unlike Django's `validate_passwords`, also if only one of them is filled in."""
        typed, repeated = self.cleaned_data.get("password1"), self.cleaned_data.get("password2")
        if typed != repeated and not self.errors.keys() & {"password1", "password2"}:
            self.add_error("password2", self.error_messages["password_mismatch"])


class UserForm(NewPasswordMixin, TenantForm):
    """A user's account; the password stays if both password fields are empty."""

    password1 = password_field(_("New password"), required=False)
    password2 = password_field(_("New password again"), required=False)

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        return email.lower()

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        self.check_passwords_match()
        self.validate_password_for_user(self.instance, "password1")
        for field in ("is_active", "is_staff"):
            if field in self.fields and not cleaned[field]:
                self.check_last_owner(field)
        if self.opens_the_portal(cleaned) and not cleaned.get("password1"):
            self.add_error("password1", _("Set a new password. The customer's old password must not open the portal."))
        return cleaned

    def validate_unique(self) -> None:
        with row_guard.disabled("an address is taken wherever it is used"):
            super().validate_unique()

    def opens_the_portal(self, cleaned: dict[str, Any]) -> bool:
        """Whether this gives a customer access to the portal: it is not proved that the address is theirs."""
        return any(cleaned.get(field) and not getattr(self.instance, field) for field in ("is_staff", "is_superuser"))

    def check_last_owner(self, field: str) -> None:
        """Checked here so that the form can show it. brands.staff_login.staff decides, with a lock on roles."""
        try:
            staff.check_switch_off(self.instance, field=field)
        except Invalid as error:
            self.add_domain_error(error)


class ColleagueForm(UserForm):
    """A new member of staff: the account and its first role. For operators; owners invite (staff_login)."""

    brands: QuerySet[Brand]  # where the user may add colleagues

    password1 = password_field(_("Password"), required=True)
    password2 = password_field(_("Password again"), required=True)
    brand = forms.ModelChoiceField(Brand.objects.none(), label=_("Brand"), widget=SelectWidget)
    role = forms.ChoiceField(
        label=_("Role"), choices=[("", _("Choose a role")), *StaffRole.Role.choices], widget=SelectWidget
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["brand"].queryset = self.brands  # type: ignore[attr-defined]


class InvitingAdmin(TenantAdmin):
    """A list with a link to the invitation form, for users who may invite colleagues."""

    actions_list = ("invite",)

    def has_invite_permission(self, request: HttpRequest) -> bool:
        return bool(brand_scope(request.user, ADD, "staff_login.invitation"))

    @action(description=_("Invite a colleague"), url_path="invite", icon="person_add", permissions=["invite"])
    def invite(self, request: HttpRequest) -> HttpResponse:
        return redirect("admin:staff_login_invitation_add")


@admin.register(User)
class UserAdmin(InvitingAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "support": "view", "superuser": "view add change"}
    sidebar = SidebarEntry(SETTINGS, 8, "person", tab=False)
    form = UserForm
    brand_path = "pk"  # no column and no filter of brands: `visible_to` finds a brand's people
    list_display = ("email", "name_here", "is_active", "joined_here")
    list_filter = (KindFilter,)
    search_fields = ("email__startswith", "^first_name_here", "^last_name_here")
    readonly_fields = (
        "registered_brand",
        "date_joined",
        "last_login",
        "email_verified_at",
        "name_here",
        "joined_here",
        "verified_here",
    )
    add_fieldsets = (
        (None, {"fields": ("email", ("first_name", "last_name"), ("password1", "password2"), ("brand", "role"))}),
    )
    superuser_fieldsets = (
        (
            None,
            {
                "fields": (
                    "email",
                    ("first_name", "last_name"),
                    "registered_brand",
                    ("date_joined", "last_login"),
                    "email_verified_at",
                )
            },
        ),
        (_("Access"), {"fields": ("is_active", ("is_staff", "is_superuser"), ("password1", "password2"))}),
    )
    fieldsets = ((None, {"fields": ("email", "name_here", ("is_active", "joined_here"), "verified_here")}),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        within = self.brand_scope(request, VIEW)
        rows = admin.ModelAdmin.get_queryset(self, request)  # TenantAdmin's narrows by a column that users do not have
        return with_names_and_joining_dates(visible_users(rows, within), within)

    def brand_id_of(self, obj: User) -> int | None:
        return obj.registered_brand_id

    def column(self, request: HttpRequest, name: Any) -> Any:
        """When people joined is no field, but is shown like one: in the zone of each row's brand."""
        if name != "joined_here":
            return super().column(request, name)
        joined = super().column(request, "date_joined")
        joined.__name__ = joined.admin_order_field = "joined_at"
        return joined

    @display(description=_("name"))
    def name_here(self, user: Any) -> str:
        return f"{user.first_name_here} {user.last_name_here}".strip()

    @display(description=_("date joined"), ordering="joined_at")
    def joined_here(self, user: Any) -> SafeString:
        return display_in_current_zone(user.joined_at)

    @display(description=_("address verified"))
    def verified_here(self, user: Any) -> SafeString | None:
        return display_in_current_zone(user.email_verified_at) if user.is_ours and user.email_verified_at else None

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """The page's people whose address or displayed name matches: customers as all searches find them, colleagues
        by the beginning of either.
        """
        within, typed = self.brand_scope(request, VIEW), search_term.strip().lower()  # addresses are in lowercase
        if within.everywhere or not typed:
            return super().get_search_results(request, queryset, typed)
        with report_search_error(request, queryset) as search:
            customers = Q(pk__in=customer_search.find_all(typed, within.brand_ids))
            colleagues = queryset.filter(pk__in=staff_of(within))
            matches, _may_repeat = super().get_search_results(request, colleagues, typed)
            search.rows = queryset.filter(customers | Q(pk__in=matches.values("pk")))
        return search.rows, False

    def choices(self, request: HttpRequest, within: BrandScope) -> QuerySet[Any]:
        return visible_users(self.get_queryset(request), within)

    def may(self, request: HttpRequest, verb: str, obj: Any = None) -> bool:
        """A user belongs to no brand: any role that allows the verb suffices, for all users who are visible."""
        return bool(self.brand_scope(request, verb))

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj and staff_user(request).is_superuser:
            return self.superuser_fieldsets
        return super().get_fieldsets(request, obj)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002
        if obj:
            return super().get_form(request, obj, change, **options)
        page = self.admin_site.get_model_admin(Brand)
        form = type(
            "BoundColleagueForm", (ColleagueForm,), {"brands": page.choices(request, self.brand_scope(request, ADD))}
        )
        return super().get_form(request, obj, change, form=form, **options)

    def audited_brands(self, obj: User) -> list[int | None]:
        return brands_of(obj)

    def extra_changes(self, form: Any) -> Changes:
        cleaned = form.cleaned_data
        if isinstance(form, ColleagueForm):
            return {"role": (None, f"{cleaned['role']} ({cleaned['brand']})")}
        return {"password": (audit_log.HIDDEN, audit_log.HIDDEN)} if cleaned["password1"] else {}

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:  # noqa: FBT001
        super().save_model(request, obj, form, change)
        if form.cleaned_data["password1"]:
            staff.set_password(user=obj, password=form.cleaned_data["password1"], at=timezone.now())

    def create(self, request: HttpRequest, obj: User, form: Any) -> User:
        obj.is_staff = True
        cleaned = form.cleaned_data
        with row_guard.disabled("a new account is no brand's until it has its first role"):
            super().create(request, obj, form)
            staff.assign_role(user=obj, brand=cleaned["brand"], role=cleaned["role"], at=timezone.now())
        return obj

    def store(self, obj: User, fields: set[str]) -> None:
        staff.save_account(user=obj, fields=fields)


def brands_of(user: User) -> list[int | None]:
    """The brands whose audit log records a change of a user: those they work for, else where they registered."""
    return list(user.staff_roles.values_list("brand_id", flat=True)) or [user.registered_brand_id]


def visible_users(rows: QuerySet[User], within: BrandScope) -> QuerySet[User]:
    """Customers of the brands in scope, registered or enrolled there, and their staff."""
    if within.everywhere:
        return rows
    registered = User.objects.order_by().filter(registered_brand__in=within.brand_ids)
    enrolled = User.objects.order_by().filter(points_rows__brand__in=within.brand_ids)
    # A union, because PostgreSQL would scan all users for an OR.
    return rows.filter(pk__in=registered.values("pk").union(enrolled.values("pk"), staff_of(within).values("pk")))


def with_names_and_joining_dates(rows: QuerySet[User], within: BrandScope) -> QuerySet[User]:
    """Annotate users with their names, as a brand in scope corrected them if it did, and with a date of joining.

    Their own people joined when they registered. Others joined when they enrolled here: when they registered elsewhere
    stays hidden.
    """
    if within.everywhere:
        names = {"first_name_here": F("first_name"), "last_name_here": F("last_name")}
        return rows.annotate(is_ours=Value(True), joined_at=F("date_joined"), **names)  # noqa: FBT003
    account: Any = User._meta.get_field("points_rows").related_model
    accounts = account.objects.filter(user=OuterRef("pk"), brand__in=within.brand_ids).order_by("pk")

    def first_of(field: str) -> Subquery:
        return Subquery(accounts.filter(**{f"{field}__isnull": False}).values(field)[:1])

    works = StaffRole.objects.filter(user=OuterRef("pk"), brand__in=within.brand_ids)
    is_ours = Q(registered_brand__in=within.brand_ids) | Exists(works)
    return rows.annotate(
        is_ours=is_ours,
        first_name_here=Coalesce(first_of("first_name"), "first_name"),
        last_name_here=Coalesce(first_of("last_name"), "last_name"),
        joined_at=Case(When(is_ours, then="date_joined"), default=Subquery(accounts.values("enrolled_at")[:1])),
    )


def staff_of(within: BrandScope) -> QuerySet[User]:
    return User.objects.order_by().filter(staff_roles__brand__in=within.brand_ids)


def display_in_current_zone(at: datetime) -> SafeString:
    """As the form shows its other moments: TenantAdmin sets the zone."""
    return local_time.display_moment(at, timezone.get_current_timezone())
