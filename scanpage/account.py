"""What the page shows a customer of their account, read from the public API; what it does not answer is left out."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from brands.models.tenants import Brand
from scanpage import presenters
from scanpage.api_client import Answer
from scanpage.session_cookies import PageSession

LINES = 5


def of(page_session: PageSession) -> dict[str, Any] | None:
    """Balance, level, campaigns, rewards and codes of those taken, last movements; None where the session has ended."""
    api = page_session.api
    points = api.get("customer/loyalty/points")
    if points.status == 401:
        page_session.leave()
        return None
    redemptions = api.get("customer/loyalty/redemptions").data or []
    return {
        "points": points.data,
        "campaigns": api.get("customer/loyalty/campaigns").data,
        "rewards": api.get("customer/loyalty/rewards").data,
        "transactions": api.get("customer/loyalty/transactions", limit=str(LINES)).data,
        "redemptions": [each for each in redemptions if each["state"] == "good"],
        "wallets": api.get("customer/wallet").data,
        "referral": referral_of(api.get("customer/loyalty/referral")),
    }


def referral_of(answer: Answer) -> dict[str, Any] | None:
    """None where the brand gives nothing for friends; account.js has the same rule."""
    if not answer.data:
        return None
    return {**answer.data, "joined": answer.data["waiting"] + answer.data["rewarded"]}


def reward_of(known: dict[str, Any] | None, number: str) -> dict[str, Any] | None:
    """The reward with this number in what `of` returned, with the question to ask before it is taken."""
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


def entered(form: Mapping[str, str]) -> dict[str, str]:
    """What somebody who registers may fill in besides address and password."""
    return {"first_name": form.get("first_name", "")[:150], "referral_code": form.get("referral_code", "")[:40]}


def lacks_consent(brand: Brand, form: Mapping[str, str]) -> bool:
    """Whether somebody registers without having accepted what the brand asks them to."""
    return bool(brand.terms_url or brand.privacy_url) and not form.get("consented")


def no_consent() -> Answer:
    return Answer(400, {"message": _("Accept the terms and the privacy notice to register.")})


def complaint(answer: Answer) -> str:
    """Why the API refused, in the visitor's words; details are in Django's words, which speak every language."""
    if answer.error == "AUTHENTICATION_REQUIRED":
        return _("E-mail address or password is wrong.")
    if answer.error == "RATE_LIMITED":
        return _("Too many attempts. Wait a moment before you try again.")
    if answer.error == "UNAVAILABLE":
        return _("The service is temporarily unavailable. Try again in a moment.")
    fields = answer.body.get("details", {}).get("fields", {}) if isinstance(answer.body.get("details"), dict) else {}
    messages = [str(message) for complaints in fields.values() for message in complaints]
    return " ".join(messages) or str(answer.body.get("message", "")) or _("That did not work. Try again.")
