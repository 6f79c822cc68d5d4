"""Google's classes and objects: a brand's shared design and a member's card, in the format of its REST API."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext_noop

from core.json_values import json_number
from core.translations import TRANSLATION_LANGUAGES
from loyalty.models.wallets import WalletPass
from loyalty.wallets import images
from loyalty.wallets.cards import Card, PassDesign

LANGUAGE = settings.LANGUAGE_CODE
MEMBER, NUMBER, LEVEL, NEXT_LEVEL = (
    gettext_noop("Member"),
    gettext_noop("Member number"),
    gettext_noop("Level"),
    gettext_noop("Next level"),
)
POINTS, PENDING = gettext_noop("Points"), gettext_noop("Pending")
LEVEL_UNTIL = gettext_noop("Level until")
LOGO = gettext_noop("Logo of %(brand)s")


def class_id(issuer_id: str, brand_id: int) -> str:
    return f"{issuer_id}.brand-{brand_id}"


def object_id(issuer_id: str, wallet_pass: WalletPass) -> str:
    return f"{issuer_id}.{wallet_pass.serial.hex}"


def logo_address(design: PassDesign) -> str:
    """The URL from which Google fetches the logo. A new logo has a new URL."""
    return f"{design.address}/wallets/logos/{design.brand_id}/{images.name_of(design)}.png"


def loyalty_class(design: PassDesign, issuer_id: str) -> dict[str, Any]:
    logo = {
        "sourceUri": {"uri": logo_address(design)},
        "contentDescription": localized(lambda language: translated(LOGO, language) % {"brand": design.name}),
    }
    return {
        "id": class_id(issuer_id, design.brand_id),
        "issuerName": design.name[:20] or design.name,
        "programName": design.name,
        "programLogo": logo,
        "hexBackgroundColor": design.background,
        "accountNameLabel": MEMBER,
        "localizedAccountNameLabel": localized(partial(translated, MEMBER)),
        "accountIdLabel": NUMBER,
        "localizedAccountIdLabel": localized(partial(translated, NUMBER)),
        "multipleDevicesAndHoldersAllowedStatus": "ONE_USER_ALL_DEVICES",
        "reviewStatus": "UNDER_REVIEW",
    }


def loyalty_object(wallet_pass: WalletPass, card: Card, issuer_id: str) -> dict[str, Any]:
    """Always includes every changeable field, because a patch leaves omitted ones unchanged."""
    level = module("level", LEVEL, lambda language: card.level_name(language) or "-")
    progress = module("progress", NEXT_LEVEL, card.progress)
    until = module("until", LEVEL_UNTIL, card.level_until_text)
    pending = module("pending", PENDING, lambda _language: str(json_number(card.pending)))
    return {
        "id": object_id(issuer_id, wallet_pass),
        "classId": class_id(issuer_id, wallet_pass.brand_id),
        "state": "INACTIVE" if card.voided else "ACTIVE",
        "accountId": card.number,
        "accountName": card.member or card.number,
        "barcode": {"type": "QR_CODE", "value": card.barcode, "alternateText": card.number},
        "loyaltyPoints": {
            "label": POINTS,
            "localizedLabel": localized(partial(translated, POINTS)),
            "balance": balance(card.balance),
        },
        "textModulesData": [
            *([level, progress] if card.level else []),
            *([until] if card.level_until else []),
            *([pending] if card.pending else []),
        ],
    }


def balance(points: float) -> dict[str, Any]:
    return {"int": points} if isinstance(points, int) else {"double": points}


def module(name: str, header: str, body: Callable[[str], str]) -> dict[str, Any]:
    """A line of the card. Phones without support for localised texts show the English ones."""
    texts = {"header": header, "body": body(LANGUAGE)}
    return {
        "id": name,
        **texts,
        "localizedHeader": localized(partial(translated, header)),
        "localizedBody": localized(body),
    }


def in_english(content: Any) -> Any:
    """The class or object without translations."""
    if isinstance(content, dict):
        english = {name: each for name, each in content.items() if not name.startswith(("localized", "translated"))}
        return {name: in_english(each) for name, each in english.items()}
    return [in_english(each) for each in content] if isinstance(content, list) else content


def translated(message: str, language: str) -> str:
    with translation.override(language):
        return translation.gettext(message)


def localized(text: Callable[[str], str]) -> dict[str, Any]:
    """A text in each supported language. Google shows the phone's language."""
    translations = [{"language": language, "value": text(language)} for language in TRANSLATION_LANGUAGES]
    return {"defaultValue": {"language": LANGUAGE, "value": text(LANGUAGE)}, "translatedValues": translations}
