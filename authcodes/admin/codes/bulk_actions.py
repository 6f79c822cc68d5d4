"""Pages that change many codes: form, preview, then the change."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from authcodes.admin.codes.bulk_forms import AssignRangeForm, ChangeRangeForm, ChangeReasonForm, PastedCodesForm
from authcodes.admin.codes.undo import OPPOSITES
from authcodes.codes import bulk_changes, scan_value
from authcodes.codes.bulk_changes import ALREADY_ASSIGNED, Assignment, CodeChangeRequest
from authcodes.codes.ranges import ChangePreview, CodeRange, preview_change, resolve_range
from authcodes.errors import BatchRejected
from authcodes.imports import pasted_codes
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from brands.identity import roles
from brands.identity.roles import ACT, SCAN_VALUE
from brands.scanned import MAX_CODE_LENGTH
from core.errors import DomainError
from core.numbers import grouped
from portal.base.confirmation import ConfirmedAction
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user
from portal.undo import offers

LABEL = "authcodes.authcode"
Kind = CodeChange.Kind
MAX_NAMED = 30  # codes that a page lists


@dataclass(frozen=True, slots=True)
class ActionTexts:
    """How a page describes its change: in the title and button, in a sentence, and once done."""

    title: Any
    explanation: Any
    done: Any
    dangerous: bool = False


TEXTS = {
    Kind.ASSIGNED: ActionTexts(
        gettext_lazy("Assign codes"),
        gettext_lazy("The codes are assigned to this product and scan as genuine."),
        gettext_lazy("Assigned"),
    ),
    Kind.UNASSIGNED: ActionTexts(
        gettext_lazy("Unassign codes"),
        gettext_lazy("The codes lose their product and scan as not valid until they are assigned again."),
        gettext_lazy("Unassigned"),
        dangerous=True,
    ),
    Kind.DEACTIVATED: ActionTexts(
        gettext_lazy("Deactivate codes"),
        gettext_lazy("The codes scan as not valid until they are reactivated."),
        gettext_lazy("Deactivated"),
        dangerous=True,
    ),
    Kind.REACTIVATED: ActionTexts(
        gettext_lazy("Reactivate codes"),
        gettext_lazy("The codes scan as they did before they were deactivated."),
        gettext_lazy("Reactivated"),
    ),
}


def may_act(request: HttpRequest, brand_id: int) -> bool:
    return brand_id in roles.brand_scope(request.user, ACT, LABEL)


def products_of(page: TenantAdmin, request: HttpRequest) -> Any:
    """The products that the user may assign codes to."""
    return page.admin_site.get_model_admin(Product).choices(request, roles.brand_scope(request.user, ACT, LABEL))


def step(request: HttpRequest) -> str:
    """The step of the page: form, preview or confirm."""
    if request.method != "POST" or "edit" in request.POST:
        return "form"
    return "confirm" if "confirm" in request.POST else "preview"


def render(page: TenantAdmin, request: HttpRequest, kind: CodeChange.Kind, **more: Any) -> HttpResponse:
    context = {
        "title": TEXTS[kind].title,
        "texts": TEXTS[kind],
        "assigns": kind == Kind.ASSIGNED,
        "already_assigned_text": _(ALREADY_ASSIGNED),
        **more,
    }
    return page.render_page(request, "admin/authcodes/code_change/page.html", context)


def change_range(page: TenantAdmin, request: HttpRequest, batch: BatchRange, kind: CodeChange.Kind) -> HttpResponse:
    """Change a code range of a batch."""
    if not may_act(request, batch.brand_id):
        raise PermissionDenied
    form = _range_form(page, request, batch, kind)
    back = reverse("admin:authcodes_batchrange_change", args=[batch.pk])
    page_context: dict[str, Any] = {"form": form, "batch": batch, "back": back}
    if request.method == "POST" and form.is_valid():
        try:
            codes = resolve_range(batch=batch, first=form.cleaned_data["first"], last=form.cleaned_data["last"])
            requested = _requested_change(form, kind)
            if step(request) == "confirm":
                return _execute(page, request, codes, requested)
            if step(request) == "preview":
                page_context |= _preview_of(codes, requested)
        except DomainError as error:
            form.add_domain_error(error)
    return render(page, request, kind, **page_context)


def chosen_range(request: HttpRequest, batch: BatchRange) -> dict[str, str]:
    """Initial values of the range form: the codes in the address, or the whole batch."""
    first, last = named_in_address(request)
    return {"first": first or batch.first_code, "last": last or batch.last_code}


def named_in_address(request: HttpRequest) -> tuple[str, str]:
    """The first and last code in the address; empty strings if missing."""
    first, last = (request.GET.get(name, "")[:MAX_CODE_LENGTH].strip() for name in ("first", "last"))
    return first, last


def _range_form(page: TenantAdmin, request: HttpRequest, batch: BatchRange, kind: CodeChange.Kind) -> Any:
    form_class = AssignRangeForm if kind == Kind.ASSIGNED else ChangeRangeForm
    form = form_class(request.POST if request.method == "POST" else None, initial=chosen_range(request, batch))
    if isinstance(form, AssignRangeForm):
        sets_points = scan_value.may_set(staff_user(request), batch.brand_id)
        form.limit_choices(
            products_of(page, request).filter(brand=batch.brand_id), page.admin_site, sets_points=sets_points
        )
    return form


def _requested_change(form: Any, kind: CodeChange.Kind) -> CodeChangeRequest:
    if kind == Kind.ASSIGNED:
        return CodeChangeRequest(kind, assignment=form.assignment)
    return CodeChangeRequest(kind, reason=form.cleaned_data["reason"])


def _preview_of(codes: CodeRange, requested: CodeChangeRequest) -> dict[str, Any]:
    result = preview_change(codes.codes, requested.assignment.product if requested.assignment else None)
    many, problem = _changes(requested.kind, result)
    return {
        "preview": result,
        "codes": codes,
        "requested": requested,
        "changes": many,
        "problem": problem or ("" if many else _("None of these codes would change.")),
        "as_job": codes.size > bulk_changes.CODES_AT_ONCE,
    }


def _changes(kind: CodeChange.Kind, preview: ChangePreview) -> tuple[int, str]:
    """How many codes would change, and what prevents the change."""
    if kind == Kind.ASSIGNED:
        taken = _("Some of these codes are assigned to another product. Unassign them first.")
        return (0, taken) if preview.taken else (preview.codes, "")
    if kind == Kind.UNASSIGNED:
        scanned = _("Scanned codes cannot be unassigned.")
        return (0, scanned) if preview.scanned else (preview.assigned, "")
    return (preview.codes - preview.deactivated if kind == Kind.DEACTIVATED else preview.deactivated), ""


def _execute(page: TenantAdmin, request: HttpRequest, codes: CodeRange, requested: CodeChangeRequest) -> HttpResponse:
    """Make the change, at once or as a job, and report it."""
    texts = TEXTS[requested.kind]
    if codes.size > bulk_changes.CODES_AT_ONCE:
        job = bulk_changes.start_change(codes=codes, requested=requested, by=staff_user(request))
        return redirect("admin:jobs_job_change", job.pk)
    batch, by, action = codes.batch, staff_user(request), uuid4()
    with transaction.atomic():
        bulk_changes.lock_code_changes(batch.brand_id, waits=False)
        is_undoable = can_be_undone(requested, codes.codes)
        now = timezone.now()
        changed = bulk_changes.change(codes=codes, requested=requested, by=by, at=now, action_id=action, waits=False)
    text = count_text(texts.done, changed)
    if is_undoable and changed == codes.size:
        what = {"batch": batch.pk, "first": codes.first, "last": codes.last}
        what |= {"kind": requested.kind.value, "action": str(action)}
        offers.report_with_undo(request, text, "code-range", brand_id=batch.brand_id, arguments=what)
    else:
        page.message_user(request, text)
    return redirect("admin:authcodes_batchrange_change", codes.batch.pk)


def can_be_undone(requested: CodeChangeRequest, codes: QuerySet[AuthCode]) -> bool:
    """Whether undoing would restore every code, provided that all of them change."""
    if requested.assignment:
        return not requested.assignment.summary and not codes.filter(product__isnull=False).exists()
    return requested.kind in OPPOSITES


def count_text(done: Any, count: int) -> str:
    return f"{done}: {grouped(count)}"


def assign_typed_codes(page: TenantAdmin, request: HttpRequest) -> HttpResponse:
    """Assign single codes: typed in, checked line by line, then all or none."""
    if not roles.brand_scope(request.user, ACT, LABEL):
        raise PermissionDenied
    initial = {"codes": request.GET.get("codes", "")[:MAX_CODE_LENGTH]}
    form = PastedCodesForm(request.POST if request.method == "POST" else None, initial=initial)
    scan_value_scope = roles.brand_scope(request.user, SCAN_VALUE, scan_value.LABEL)
    form.limit_choices(products_of(page, request), page.admin_site, sets_points=bool(scan_value_scope))
    page_context: dict[str, Any] = {"form": form, "back": reverse("admin:authcodes_authcode_changelist")}
    if request.method == "POST" and form.is_valid():
        try:
            lines = pasted_codes.parse_pasted(text=form.cleaned_data["codes"], product=form.cleaned_data["product"])
            wrong = [line for line in lines if line.error]
            if step(request) == "confirm" and not wrong:
                return _typed_done(page, request, lines, form.assignment)
            if step(request) != "form":
                page_context |= _typed_preview(lines, wrong, form.assignment)
        except BatchRejected as error:
            form.add_domain_error(error)
    return render(page, request, Kind.ASSIGNED, **page_context)


def _named(lines: list[pasted_codes.PastedCode], product: Product) -> Any:
    names = [line.code for line in lines if not line.error]
    return AuthCode.objects.filter(brand=product.brand_id, code__in=names)


def _typed_preview(
    lines: list[pasted_codes.PastedCode], wrong: list[pasted_codes.PastedCode], assignment: Assignment
) -> dict[str, Any]:
    problem = ""
    if wrong:
        problem = _("Some lines have errors. Correct or remove them.")
    return {
        "lines": lines,
        "preview": preview_change(_named(lines, assignment.product), assignment.product),
        "requested": CodeChangeRequest(Kind.ASSIGNED, assignment=assignment),
        "changes": len(lines) - len(wrong),
        "problem": problem,
    }


def _typed_done(
    page: TenantAdmin, request: HttpRequest, lines: list[pasted_codes.PastedCode], assignment: Assignment
) -> HttpResponse:
    named, by, action = _named(lines, assignment.product), staff_user(request), uuid4()
    requested = CodeChangeRequest(Kind.ASSIGNED, assignment=assignment)
    with transaction.atomic():
        bulk_changes.lock_code_changes(assignment.product.brand_id, waits=False)
        codes, is_undoable, now = list(named), can_be_undone(requested, named), timezone.now()
        changed = bulk_changes.change_codes(
            codes=codes, requested=requested, by=by, at=now, action_id=action, waits=False
        )
    _report_change(page, request, codes, requested.kind, changed, action if is_undoable else None)
    if len(codes) == 1:
        return redirect("admin:authcodes_authcode_change", codes[0].pk)
    return redirect("admin:authcodes_authcode_changelist")


def switch_code(page: TenantAdmin, request: HttpRequest, code: AuthCode, kind: CodeChange.Kind) -> HttpResponse:
    """Deactivate or reactivate one code, with a reason."""
    if not may_act(request, code.brand_id):
        raise PermissionDenied

    def switch(answers: dict[str, Any]) -> None:
        _report_change(page, request, [code], kind, *_switch(request, [code], kind, answers["reason"]))

    return _confirmed([code], kind).respond(page, request, code, switch)


def switch_chosen_codes(
    page: TenantAdmin,
    request: HttpRequest,
    codes: list[AuthCode],
    kind: CodeChange.Kind,
    note: Callable[[list[AuthCode], str], None],
) -> HttpResponse | None:
    """Deactivate or reactivate selected codes, after asking for a reason. Returns None if there are none."""
    if not codes:
        return None
    saved = [(name, value) for name in ("action", "select_across") for value in request.POST.getlist(name)[:1]]
    saved += [("_selected_action", value) for value in request.POST.getlist("_selected_action")]

    def switch(answers: dict[str, Any]) -> None:
        changed, action = _switch(request, codes, kind, answers["reason"])
        note(codes, answers["reason"])
        _report_change(page, request, codes, kind, changed, action)

    return _confirmed(codes, kind, resent=saved).respond(page, request, None, switch)


def _report_change(
    page: TenantAdmin,
    request: HttpRequest,
    codes: list[AuthCode],
    kind: CodeChange.Kind,
    changed: int,
    action: UUID | None,
) -> None:
    """Report the change, with an undo offer if every code changed."""
    done = TEXTS[kind].done
    if action and changed == len(codes):
        what = {"kind": kind.value, "action": str(action)}
        offers.report_rows_with_undo(request, done, "codes", codes, lambda keys: {"codes": keys, **what})
    else:
        page.message_user(request, count_text(done, changed))


def _confirmed(
    codes: list[AuthCode], kind: CodeChange.Kind, *, resent: Sequence[tuple[str, Any]] = ()
) -> ConfirmedAction:
    texts = TEXTS[kind]
    displayed = [code.code for code in codes[:MAX_NAMED]]
    return ConfirmedAction(
        title=texts.title,
        paragraphs=[
            texts.explanation,
            ngettext("This code:", "These %(number)d codes:", len(codes)) % {"number": len(codes)},
        ],
        consequences=[*displayed, "…"] if len(codes) > MAX_NAMED else displayed,
        form=ChangeReasonForm,
        button=texts.title,
        dangerous=texts.dangerous,
        resent=resent,
    )


def _switch(request: HttpRequest, codes: list[AuthCode], kind: CodeChange.Kind, reason: str) -> tuple[int, UUID]:
    """Returns the number of changed codes, and the id of the change in their history."""
    requested, action = CodeChangeRequest(kind, reason=reason), uuid4()
    by, now = staff_user(request), timezone.now()
    changed = bulk_changes.change_codes(codes=codes, requested=requested, by=by, at=now, action_id=action, waits=False)
    return changed, action
