"""The rows of milestones in the wizard: their fields, and the rewards of the catalogue that they offer."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.conf import settings
from django.core.validators import MaxValueValidator
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from brands.models.tenants import Brand
from core import languages
from core.numbers import format_number, grouped
from core.translations import TRANSLATION_LANGUAGES
from loyalty.models.rewards import Reward
from portal.unfold import NumberWidget, SelectWidget, TextWidget

ROWS = 5  # of milestones in the form
MAX_REWARDS = 200  # offered in each row
MAX_GOAL = 1_000_000
POINTS, NEW, NOTHING = "points", "new", ""


@dataclass(frozen=True, slots=True)
class Row:
    """A milestone's fields in the form."""

    number: int
    at: Any
    gives: Any
    points: Any
    new: Any
    auto: Any


def points_texts(points: Decimal) -> tuple[str, dict[str, dict[str, str]]]:
    """What members read if a milestone pays points, and its translations. The brand may change them later."""
    is_one = points == 1
    arabic = "نقاط" if points == int(points) and 3 <= points <= 10 else "نقطة"
    units = {"en": "point" if is_one else "points", "de": "Punkt" if is_one else "Punkte", "ar": arabic}

    def text(language: str) -> str:
        with languages.override(language):
            return f"{format_number(points)} {units[language]}"

    return text(settings.LANGUAGE_CODE), {each: {"reward_name": text(each)} for each in TRANSLATION_LANGUAGES}


def row_fields(number: int, gives: Sequence[tuple[str, str]], most: MaxValueValidator) -> dict[str, forms.Field]:
    return {
        f"at_{number}": forms.IntegerField(
            label=_("Milestone %(number)d: at") % {"number": number},
            required=False,
            min_value=1,
            max_value=MAX_GOAL,
            widget=NumberWidget,
        ),
        f"gives_{number}": forms.ChoiceField(label=_("Gives"), required=False, choices=gives, widget=SelectWidget),
        f"points_{number}": forms.DecimalField(
            label=_("Points"),
            required=False,
            min_value=0,
            max_digits=10,
            decimal_places=2,
            validators=[most],
            widget=TextWidget(attrs={"inputmode": "decimal"}),
        ),
        f"new_{number}": forms.CharField(
            label=_("Name of the new reward"), required=False, max_length=120, widget=TextWidget
        ),
        f"auto_{number}": forms.ChoiceField(
            label=_("How members get it"),
            required=False,
            choices=[("auto", _("Automatically")), ("claim", _("They claim it"))],
            widget=SelectWidget,
        ),
    }


def offered_rewards(brand: Brand) -> Sequence[Reward]:
    rows = Reward.objects.filter(Q(valid_until__isnull=True) | Q(valid_until__gt=timezone.now()), brand=brand)
    return list(rows.filter(is_active=True).order_by("name", "pk")[:MAX_REWARDS])


def reward_label(reward: Reward) -> str:
    """The reward's name with its remaining stock."""
    if reward.uses_pool or reward.stock is None:
        return reward.name
    return _("%(reward)s (%(stock)s left)") % {"reward": reward.name, "stock": grouped(reward.stock)}
