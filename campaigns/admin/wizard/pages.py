"""The pages of the wizard: the cards that a new campaign begins with, the form in steps, and its launch."""

import hashlib
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from brands import audit_log
from brands.audit_log import AuditedChange
from brands.identity import roles
from brands.identity.roles import ADD
from brands.models.tenants import Brand
from campaigns.admin.campaign_form import problems_of
from campaigns.admin.campaign_page.acts import CampaignActs, page_address, plan_address
from campaigns.admin.campaign_page.replay_summary import replay_context
from campaigns.admin.campaign_templates import CAMPAIGN_TEMPLATES, CampaignTemplate
from campaigns.admin.wizard import preview
from campaigns.admin.wizard.form import WizardForm, initial_of
from campaigns.models.campaigns import Campaign, Milestone
from campaigns.progress import lifecycle
from core.errors import DomainError
from loyalty.models.rewards import Reward
from portal.base.audit_mixin import audit_context
from portal.shell.brand_links import brand_links, brands_within, chosen_brand

RULE, REWARD = "campaigns.earningrule", "loyalty.reward"
TWICE = timedelta(minutes=2)  # the same campaign again within this time is a double click
# The wizard's form fields for those of the campaign's that have other names.
FIELD_NAMES = {"conditions": "audience", "campaign_name": "name", "starts_at": "starts_on", "ends_at": "ends_on"}


class CampaignWizard(CampaignActs):
    """Part of the model admin of campaigns."""

    def own_views(self) -> dict[str, Any]:
        return {"new": ("new/", self.new), "plan": ("<id:pk>/plan/", self.plan), **super().own_views()}

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the cards. The full form is one of them; the form's script and pop-ups get it directly."""
        if request.method == "POST" or {"form", "_popup"} & set(request.GET):
            return super().add_view(request, form_url, extra_context)
        if not self.has_add_permission(request):
            raise PermissionDenied
        brand = self.brand_chosen(request)
        context = {
            "title": _("New campaign"),
            "templates": self.templates_of(request, brand),
            "full_form": f"{reverse('admin:campaigns_campaign_add')}?form=all",
            "brands": self.brand_links(request, brand, reverse("admin:campaigns_campaign_add")),
        }
        return self.render_page(request, "admin/campaigns/campaign/cards.html", context).render()

    def brand_chosen(self, request: HttpRequest) -> Brand:
        """The chosen brand, or the first for which the user may add campaigns. Raises Http404, PermissionDenied."""
        brands = brands_within(self.brand_scope(request, ADD))
        return chosen_brand(brands, request.POST.get("brand") or request.GET.get("brand", ""))

    def brand_links(self, request: HttpRequest, brand: Brand, address: str, **more: str) -> list[dict[str, Any]]:
        """Links to the same page of other brands, if the user works for several."""
        brands = brands_within(self.brand_scope(request, ADD))
        return brand_links(brands, brand, lambda each: f"{address}?{urlencode({**more, 'brand': str(each.pk)})}")

    def templates_of(self, request: HttpRequest, brand: Brand) -> list[tuple[CampaignTemplate, str]]:
        """The templates that the user may use, with the addresses of their forms."""
        may_add_rules = brand.pk in roles.brand_scope(request.user, ADD, RULE)
        return [
            (template, template_address(template, brand))
            for template in CAMPAIGN_TEMPLATES.values()
            if not template.is_rule or may_add_rules
        ]

    # --- The form

    def new(self, request: HttpRequest) -> HttpResponse:
        brand = self.brand_chosen(request)
        template = CAMPAIGN_TEMPLATES.get(request.GET.get("template", "collect"))
        if template is None or template.is_rule:
            raise Http404
        initial = template.initial(timezone.now(), brand.zone)
        return self.answered(request, Campaign(brand=brand, is_active=False), initial, kind=str(template.title))

    def plan(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The form of a campaign saved for later; one already launched has its own page and form."""
        campaign = self.changeable(request, pk)
        initial = initial_of(campaign)
        if initial is None:
            self.message_user(
                request,
                _("This campaign has more settings than the wizard asks for. Change the campaign here."),
                messages.INFO,
            )
            return redirect("admin:campaigns_campaign_change", pk)
        if not may_be_planned(campaign):
            self.message_user(
                request, _("This campaign has already been launched. Change it in its form."), messages.INFO
            )
            return redirect(page_address(pk))
        return self.answered(request, campaign, initial, kind=_("Plan of %(campaign)s") % {"campaign": campaign})

    def answered(self, request: HttpRequest, campaign: Campaign, initial: Any, *, kind: str) -> HttpResponse:
        """Show the form; once it is valid, save it as the pressed button says."""
        may_add_rewards = campaign.brand_id in roles.brand_scope(request.user, ADD, REWARD)
        options: dict[str, Any] = {"brand": campaign.brand, "may_add_rewards": may_add_rewards}
        form = WizardForm(request.POST if request.method == "POST" else None, initial=initial, **options)
        if request.method == "POST" and form.is_valid():
            response = self.saved(request, form, campaign)
            if response is not None:
                return response
        return self.form_page(request, form, campaign, kind)

    def form_page(self, request: HttpRequest, form: WizardForm, campaign: Campaign, kind: str) -> HttpResponse:
        context = {
            "original": campaign if campaign.pk else None,
            "title": kind,
            "form": form,
            "brand": campaign.brand,
            "campaign": campaign,
            "preview": preview.of_form(form),
            "today": timezone.now().astimezone(campaign.brand.zone),
            "opened": request.POST.get("opened") or version_of(campaign),
            "brands": []
            if campaign.pk
            else self.brand_links(
                request, campaign.brand, request.path, template=request.GET.get("template", "collect")
            ),
            "back": page_address(campaign.pk) if campaign.pk else reverse("admin:campaigns_campaign_add"),
            **(replay_context(campaign, user=request.user, may_replay=False) if campaign.pk else {}),
        }
        with timezone.override(campaign.brand.zone):
            return self.render_page(request, "admin/campaigns/campaign/wizard.html", context).render()

    # --- Saving

    def saved(self, request: HttpRequest, form: WizardForm, campaign: Campaign) -> HttpResponse | None:
        """Save campaign, milestones and new rewards together. On an error, add it to its field and return None."""
        launches = "_launch" in request.POST
        try:
            with transaction.atomic():
                Brand.objects.select_for_update(no_key=True).get(pk=campaign.brand_id)  # lock: one at a time
                twin = self.campaign_named(campaign, form.cleaned_data["name"])
                is_recent = twin is not None and twin.created_at > timezone.now() - TWICE
                if twin is not None and is_recent and not campaign.pk and form.makes(twin, launches=launches):
                    return redirect(page_address(twin.pk))  # the button was pressed twice
                if twin is not None:
                    form.add_error("name", _("Another campaign has this name. Choose a different name."))
                    return None
                made = self.stored(request, form, campaign, launches=launches)
        except ValidationError as error:
            add_problems(form, error)
            return None
        except DomainError as error:
            form.add_error(None, error.message)
            return None
        return self.redirect_after_save(request, made, launches=launches)

    def campaign_named(self, campaign: Campaign, name: str) -> Campaign | None:
        rows = Campaign.objects.filter(brand=campaign.brand_id, campaign_name=name).exclude(pk=campaign.pk)
        return rows.order_by("-pk").first()

    def stored(self, request: HttpRequest, form: WizardForm, campaign: Campaign, *, launches: bool) -> Campaign:
        """Raises ValidationError keyed by the campaign's fields."""
        before = lifecycle.locked(campaign.pk) if campaign.pk else None
        made = before or Campaign(brand=campaign.brand)
        if before is not None:
            if not may_be_planned(before):
                raise ValidationError(_("Somebody has launched this campaign in the meantime."))
            if request.POST.get("opened") != version_of(before):
                text = _("Somebody else changed this after you opened it. Copy what you typed, and reload the page.")
                raise ValidationError(text)
            self.remember(request, [before])
        step_before = made.step_by if before else None
        form.fill(made)
        made.is_active = False
        if launches:
            lifecycle.launch(made, at=timezone.now())
        made.full_clean()
        if problems := problems_of(made, step_before=step_before):
            raise ValidationError(dict(problems))
        made.save()
        self._store_milestones(request, form, made)
        if before is not None:
            self.record_action(request, [made], audit_log.CHANGED)
        else:
            row = AuditedChange(made, made.brand_id, audit_log.changes(None, made))
            audit_log.record(audit_context=audit_context(request), action=audit_log.ADDED, rows=[row])
        return made

    def _store_milestones(self, request: HttpRequest, form: WizardForm, campaign: Campaign) -> None:
        """Replace the milestones: nobody has reached any of them yet."""
        campaign.milestones.all().delete()
        noted: list[AuditedChange] = []
        for milestone, new_reward in form.milestones_of(campaign):
            if new_reward:
                milestone.reward = Reward.objects.create(brand=campaign.brand, name=new_reward, cost=None)
                milestone.reward_name = new_reward
                changes = audit_log.changes(None, milestone.reward)
                noted.append(AuditedChange(milestone.reward, campaign.brand_id, changes))
            milestone.save()
        if noted:
            audit_log.record(audit_context=audit_context(request), action=audit_log.ADDED, rows=noted)

    def redirect_after_save(self, request: HttpRequest, made: Campaign, *, launches: bool) -> HttpResponse:
        if "_replay" in request.POST:
            self.start_replay(request, made)
            return redirect(f"{plan_address(made.pk)}#limits")
        if not launches:
            text = _("Saved for later. Nothing counts towards the campaign until you launch it.")
        elif lifecycle.state_of(made, at=timezone.now()) is lifecycle.State.PLANNED:
            text = _("Scheduled. The campaign begins automatically on its first day.")
        else:
            text = _("Launched. Actions count towards the campaign from now on.")
        self.message_user(request, text, messages.SUCCESS)
        return redirect(page_address(made.pk))


def template_address(template: CampaignTemplate, brand: Brand) -> str:
    name = "admin:campaigns_earningrule_add" if template.is_rule else "admin:campaigns_campaign_new"
    return f"{reverse(name)}?{urlencode({'template': template.name, 'brand': str(brand.pk)})}"


def may_be_planned(campaign: Campaign) -> bool:
    """Whether it was never launched: it is off, nobody takes part, and no reward was won."""
    if campaign.is_active or lifecycle.has_begun(campaign):
        return False
    return not Milestone.objects.filter(campaign=campaign, claims__isnull=False).exists()


def version_of(campaign: Campaign) -> str:
    """A hash of the stored plan, to detect changes while its form is open; empty for a new campaign."""
    if not campaign.pk:
        return ""
    stored = [getattr(campaign, field.attname) for field in Campaign._meta.concrete_fields]
    text = repr([stored, list(campaign.milestones.order_by("pk").values_list())])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def add_problems(form: WizardForm, error: ValidationError) -> None:
    """Add the errors of the campaign's checks to the wizard's fields."""
    by_field = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
    for name, texts in by_field.items():
        field = FIELD_NAMES.get(name, name)
        for text in texts:
            form.add_error(field if field in form.fields else None, text)
