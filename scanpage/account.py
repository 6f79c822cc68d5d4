"""A customer's account for the page, read from the public API. Whatever the API does not answer is left out."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from brands.models.tenants import Brand
from core.numbers import is_id
from scanpage import presenters
from scanpage.api_client import Answer
from scanpage.session_cookies import PageSession

LINES = 5
MAX_STAMPS = 12  # for a campaign with a higher goal, a bar says more
# Reasons why a customer cannot have a reward, for scripts to show; the last is for any other.
REWARD_ERROR_CODES = [
    "NOT_ENOUGH_POINTS",
    "LEVEL_TOO_LOW",
    "OUT_OF_STOCK",
    "REDEMPTION_LIMIT_REACHED",
    "REDEMPTION_USED",
    "UNDO_NOT_POSSIBLE",
    "other",
]


def of(page_session: PageSession) -> dict[str, Any] | None:
    """Balance, level, campaigns, rewards, codes of redemptions and last movements; None if the session has ended."""
    api = page_session.api
    points = api.get("customer/loyalty/points")
    if points.status == 401:
        page_session.leave()
        return None
    redemptions = api.get("customer/loyalty/redemptions").data or []
    rewards = api.get("customer/loyalty/rewards").data
    return {
        "points": points.data,
        "goal": goal_of(points.data, rewards),
        "campaigns": [with_stamps(each) for each in api.get("customer/loyalty/campaigns").data or []],
        "rewards": rewards,
        "transactions": api.get("customer/loyalty/transactions", limit=str(LINES)).data,
        "redemptions": [each for each in redemptions if each["state"] == "good"],
        "wallets": api.get("customer/wallet").data,
        "referral": referral_of(api.get("customer/loyalty/referral")),
    }


def goal_of(points: dict[str, Any] | None, rewards: list[dict[str, Any]] | None) -> dict[str, Any] | None:
    """The goal of the ring: the next level, else the reward with the fewest missing points; full without either.

    account.js has the same rule.
    """
    if points is None:
        return None
    if level := points["next_level"]:
        return {"percent": percent(level["points"], level["threshold"])}
    missing = [each for each in rewards or [] if each.get("missing")]
    if not missing:
        return {"percent": 100}
    reward = min(missing, key=lambda each: each["missing"])
    known = {"reward": reward["name"], "missing": reward["missing"]}
    return {"percent": percent(points["points"], reward["cost"]), **known}


def percent(part: float, whole: float) -> int:
    return max(0, min(100, int(100 * part / whole))) if whole else 100


def with_stamps(campaign: dict[str, Any]) -> dict[str, Any]:
    """A campaign with a stamp for each step to its goal, if there are few."""
    target, progress = campaign["target"], campaign["progress"]
    is_few = target == int(target) and 1 <= target <= MAX_STAMPS
    return {**campaign, "stamps": [{"full": step < progress} for step in range(int(target))] if is_few else []}


def referral_of(answer: Answer) -> dict[str, Any] | None:
    """None if the brand gives nothing for referrals; account.js has the same rule."""
    if not answer.data:
        return None
    return {**answer.data, "joined": answer.data["waiting"] + answer.data["rewarded"]}


def reward_of(known: dict[str, Any] | None, number: str) -> dict[str, Any] | None:
    """The available reward with this number, from the result of `of`, with the question to confirm."""
    if not known or not known["points"]:
        return None
    balance = known["points"]["points"]
    for reward in known["rewards"] or []:
        if str(reward["id"]) == number and reward["available"]:
            left = round(balance - reward["cost"], 2)
            text = _("Redeem {name}? Price in points: {cost}. Left after that: {left}.")
            amounts = {"cost": presenters.format_number(reward["cost"]), "left": presenters.format_number(left)}
            return {**reward, "question": text.format(name=reward["name"], **amounts)}
    return None


def registration_data(form: Mapping[str, str]) -> dict[str, Any]:
    """Optional values of a registration besides address and password, and the texts that were shown."""
    return {
        "first_name": form.get("first_name", "")[:150],
        "referral_code": form.get("referral_code", "")[:40],
        "legal_texts": displayed_texts(form),
    }


def texts_of(brand: Brand, page_session: PageSession) -> dict[str, Any]:
    """The brand's texts in force by kind, and their ids; empty for a brand without texts here.

    `unread`: they could not be read, so registration is not possible.
    """
    if not brand.has_legal_texts:
        return {}
    rows = page_session.guest.get("legal-texts").data
    if rows is None:
        return {"unread": True}
    return {**{row["kind"]: row for row in rows}, "ids": ",".join(str(row["id"]) for row in rows)} if rows else {}


def texts_to_accept(brand: Brand, page_session: PageSession) -> str:
    """The ids of the texts in force, if the customer has not agreed to one of them."""
    if not (brand.has_legal_texts and page_session.is_customer):
        return ""
    rows = page_session.api.get("customer/consents").data or []
    return ",".join(str(row["text"]["id"]) for row in rows) if any(not row["agreed_at"] for row in rows) else ""


def displayed_texts(form: Mapping[str, str]) -> list[int]:
    """The ids of the brand's texts that a form was shown with."""
    ids = form.get("legal_texts", "")[:100].split(",")
    return [int(each) for each in ids if is_id(each)]


def lacks_consent(brand: Brand, page_session: PageSession, form: Mapping[str, str]) -> bool:
    """Whether a registration lacks the consent that the brand requires."""
    asks = brand.terms_url or brand.privacy_url or texts_of(brand, page_session)
    return bool(asks) and not form.get("consented")


def no_consent() -> Answer:
    return Answer(400, {"message": _("Accept the terms and the privacy notice to register.")})


def error_text(answer: Answer) -> str:
    """The API's error in the customer's language. Details use Django's messages, which have every language."""
    if answer.error == "AUTHENTICATION_REQUIRED":
        return _("E-mail address or password is wrong.")
    if answer.error == "RATE_LIMITED":
        return _("Too many attempts. Wait a moment before you try again.")
    if answer.error == "UNAVAILABLE":
        return _("The service is temporarily unavailable. Try again in a moment.")
    fields = answer.body.get("details", {}).get("fields", {}) if isinstance(answer.body.get("details"), dict) else {}
    messages = [str(message) for complaints in fields.values() for message in complaints]
    return " ".join(messages) or str(answer.body.get("message", "")) or _("That did not work. Try again.")
