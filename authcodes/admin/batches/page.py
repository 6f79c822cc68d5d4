"""The page of a batch: its progress, tabs, and the strip on which a range of codes is selected and changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.contrib.admin.utils import unquote
from django.forms import Media
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from authcodes.admin.batches import tabs
from authcodes.admin.batches.forms import protection_of
from authcodes.admin.batches.links import address_of, code_change_actions_for, generation_job_url, list_of, prints_for
from authcodes.admin.batches.strip import LANES, Strip, percent_text, strip_of
from authcodes.admin.codes.bulk_actions import named_in_address
from authcodes.codes.deliveries import delivered
from authcodes.codes.ranges import CodeRange, full_range, resolve_range
from authcodes.codes.spans import Span, size_of, span_of
from authcodes.dashboard import figures
from authcodes.dashboard.filters import Filters
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import
from authcodes.printing.runs import printed_spans
from brands.identity.roles import ADD
from campaigns.models.campaigns import Campaign
from core.numbers import format_number
from portal.base.badges import badge
from portal.base.tenant_admin import TenantAdmin
from portal.figures.cards import percent_of

Kind = CodeChange.Kind


@dataclass(frozen=True, slots=True)
class Stage:
    """How many codes have reached a stage. `next_step`: the action that brings more codes there, if permitted."""

    name: str
    title: str
    number: int
    whole: int
    link: str
    next_step: str = ""
    next_title: str = ""

    @property
    def count(self) -> str:
        return format_number(self.number)

    @property
    def percent(self) -> float:
        return min(100.0, percent_of(self.number, self.whole))

    @property
    def percent_text(self) -> str:
        return percent_text(min(1.0, self.number / self.whole if self.whole else 0.0))


@dataclass(frozen=True, slots=True)
class Tab:
    title: Any
    address: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class ChosenRange:
    """The codes that the page shows. `problem`: what is wrong with the range in the address."""

    codes: CodeRange | None
    first: str
    last: str
    problem: str = ""

    @property
    def is_part(self) -> bool:
        codes = self.codes
        return codes is not None and codes.size < codes.batch.generated_count


class BatchPages(TenantAdmin):
    """Mixin of the batch admin: the page of a batch."""

    change_form_template = "admin/authcodes/batch/page.html"

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        batch: BatchRange = self.get_object(request, unquote(object_id))
        seen = tabs.seen_by(request, batch)
        name = request.GET.get("tab", "")
        name = tabs.SETTINGS if request.method == "POST" else name if name in seen else seen[0]
        page_context: dict[str, Any] = {
            # Lazy: a saved form is answered with a redirect that shows none of it.
            "batch_figures": SimpleLazyObject(partial(self.figures_of, request, batch, seen)),
            "batch_tab": name,
            "batch_tabs": [Tab(tabs.TITLES[each], f"?tab={each}", each == name) for each in seen],
            f"batch_{name}": tabs.context_of(request, batch, name),
        }
        if name != tabs.SETTINGS:
            page_context["media"] = Media()  # the form's media, needed only on the settings tab
        return super().change_view(request, object_id, form_url, {**page_context, **(extra_context or {})})

    def response_post_save_change(self, request: HttpRequest, obj: BatchRange) -> HttpResponseRedirect:
        return HttpResponseRedirect(reverse("admin:authcodes_batchrange_change", args=[obj.pk]))

    def figures_of(self, request: HttpRequest, batch: BatchRange, seen: Sequence[str]) -> dict[str, Any]:
        """State, figures and permitted actions of the batch. `seen`: the tabs that the user may open."""
        job = self.generation_in(batch)
        if job is None and not batch.is_generated:  # the job may have ended after the batch was read
            batch = self.get_queryset(request).get(pk=batch.pk)
        stopped = not (batch.is_generated or batch.is_being_made)  # type: ignore[attr-defined] # set by get_queryset
        deactivated = AuthCode.objects.filter(brand=batch.brand_id, batch=batch).deactivated().count()
        spans = {"delivered": delivered(batch)}
        if tabs.PRINTS in seen:
            spans["printed"] = printed_spans(batch)
        actions = [*prints_for(request, batch), *code_change_actions_for(request, batch)]
        missing = batch.quantity - batch.generated_count
        chosen = chosen_in(request, batch)
        return {
            "batch": batch,
            "state": self.badge_of(batch),
            "protection": badge(*protection_of(batch)),
            "recall_address": reverse("admin:authcodes_recall_change", args=[batch.recall_id])
            if batch.recall_id
            else "",
            "job": job,
            "job_address": generation_job_url(batch),
            "stopped": stopped,
            "printed_note": printed_note(batch),
            "campaign_note": campaign_note(batch, at=timezone.now()),
            "missing": missing,
            "missing_text": format_number(missing),
            "finish_address": address_of("finish", batch) if stopped and self.may(request, ADD, batch) else "",
            "stages": stages_of(batch, spans, actions),
            "deactivated": format_number(deactivated) if deactivated else "",
            "deactivated_address": list_of("authcode", batch, status="deactivated"),
            "chosen": chosen,
            "strip": strip_for(batch, chosen, spans),
            "actions": [each for each in actions if each["is_usual"]],
            "more_actions": [each for each in actions if not each["is_usual"]],
        }

    def badge_of(self, batch: BatchRange) -> Any:
        """The badge of the batch's state."""
        raise NotImplementedError

    def generation_in(self, batch: BatchRange) -> dict[str, Any] | None:
        """The unfinished job that makes the codes; the page shows its progress."""
        raise NotImplementedError


def stages_of(batch: BatchRange, spans: Mapping[str, list[Span]], actions: Sequence[dict[str, Any]]) -> list[Stage]:
    """The stages, from generated to scanned. A large batch is counted without reading all its codes or scans."""
    counted = figures.codes(brands=[batch.brand], filters=Filters(batch_id=batch.pk))
    generated = batch.generated_count
    steps = {each["name"]: each for each in actions}
    rows = [
        ("generated", _("Generated"), generated, list_of("authcode", batch), ""),
        ("assigned", LANES["assigned"], counted.assigned, list_of("authcode", batch, assigned="yes"), "assign"),
        ("printed", LANES["printed"], size_of(spans.get("printed", [])), "?tab=prints#tab", "print"),
        (
            "delivered",
            LANES["delivered"],
            size_of(spans["delivered"]),
            list_of("codechange", batch, kind__exact=Kind.DELIVERED.value),
            "deliver",
        ),
        ("scanned", LANES["scanned"], counted.scanned, list_of("authcode", batch, status="scanned"), ""),
    ]
    stages = []
    for name, title, number, link, step in rows:
        if name == "printed" and name not in spans:
            continue
        act = steps.get(step) if number < generated or step == "print" else None
        address, label = (act["address"], str(act["label"])) if act else ("", "")
        whole = batch.quantity if name == "generated" else generated
        stages.append(Stage(name, str(title), number, whole, link, address, label))
    return stages


def campaign_note(batch: BatchRange, *, at: datetime) -> str:
    """The note on the batch's page while its campaign is not running; empty otherwise."""
    if batch.campaign is None or Campaign.objects.running(at).filter(pk=batch.campaign.pk).exists():
        return ""
    state = _("The campaign %(campaign)s is not running.") % {"campaign": batch.campaign}
    nothing = batch.after_campaign == BatchRange.AfterCampaign.NOTHING
    return f"{state} {_('Scans earn nothing.') if nothing else _('Scans earn their usual points.')}"


def printed_note(batch: BatchRange) -> str:
    """The note on the page of a batch that was printed elsewhere; empty otherwise."""
    if not batch.printed_elsewhere:
        return ""
    if not batch.quantity:
        return _("The import of these codes was undone. The batch keeps their history.")
    note = _("Another company printed these codes. They have no numbers: change all of them at once, or use a list.")
    sequential = Import.objects.filter(batch=batch, is_sequential=True).exists()
    return f"{note} {_('Anyone can guess the next code.')}" if sequential else note


def chosen_in(request: HttpRequest, batch: BatchRange) -> ChosenRange:
    """The range in the address, or all codes of the batch."""
    try:
        whole = full_range(batch)
    except BatchRejected:
        return ChosenRange(None, batch.first_code, batch.last_code)
    first, last = named_in_address(request)
    if batch.printed_elsewhere or not (first or last):
        return ChosenRange(whole, whole.first, whole.last)
    try:
        codes = resolve_range(batch=batch, first=first or whole.first, last=last or whole.last)
    except BatchRejected as error:
        return ChosenRange(whole, first or whole.first, last or whole.last, error.message)
    return ChosenRange(codes, codes.first, codes.last)


def strip_for(batch: BatchRange, chosen: ChosenRange, spans: Mapping[str, list[Span]]) -> Strip | None:
    """The strip; None if the batch has no codes yet or its codes have no numbers."""
    codes = chosen.codes
    span = span_of(batch, codes.first, codes.last) if codes and not batch.printed_elsewhere else None
    if span is None:
        return None
    recalled = span_of(batch, batch.recalled_from, batch.recalled_to) if batch.is_recalled_in_part else None
    lanes = {**spans, "recalled": [recalled]} if recalled else spans
    return strip_of(batch, span, lanes, is_part=chosen.is_part)
