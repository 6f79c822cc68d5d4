"""Google's classes and objects: what a brand's passes share, and a member's card, as its REST API takes them."""

from typing import Any

from django.utils.translation import gettext as _

from loyalty.models.wallets import WalletPass
from loyalty.wallets import images
from loyalty.wallets.cards import Card, Look

LANGUAGE = "en"


def class_id(issuer_id: str, brand_id: int) -> str:
    return f"{issuer_id}.brand-{brand_id}"


def object_id(issuer_id: str, wallet_pass: WalletPass) -> str:
    return f"{issuer_id}.{wallet_pass.serial.hex}"


def logo_address(look: Look) -> str:
    """Where Google fetches the logo; another logo has another address."""
    return f"{look.address}/wallets/logos/{look.brand_id}/{images.name_of(look)}.png"


def loyalty_class(look: Look, issuer_id: str) -> dict[str, Any]:
    logo = {
        "sourceUri": {"uri": logo_address(look)},
        "contentDescription": localized(_("Logo of %(brand)s") % {"brand": look.name}),
    }
    return {
        "id": class_id(issuer_id, look.brand_id),
        "issuerName": look.name[:20] or look.name,
        "programName": look.name,
        "programLogo": logo,
        "hexBackgroundColor": look.background,
        "accountNameLabel": _("Member"),
        "accountIdLabel": _("Member number"),
        "multipleDevicesAndHoldersAllowedStatus": "ONE_USER_ALL_DEVICES",
        "reviewStatus": "UNDER_REVIEW",
    }


def loyalty_object(wallet_pass: WalletPass, card: Card, issuer_id: str) -> dict[str, Any]:
    """All that a change can change is always in it: what a patch leaves out would stay as it was."""
    level = {"id": "level", "header": _("Level"), "body": card.level or "-"}
    progress = {"id": "progress", "header": _("Next level"), "body": card.progress}
    return {
        "id": object_id(issuer_id, wallet_pass),
        "classId": class_id(issuer_id, wallet_pass.brand_id),
        "state": "INACTIVE" if card.voided else "ACTIVE",
        "accountId": card.number,
        "accountName": card.member or card.number,
        "barcode": {"type": "QR_CODE", "value": card.barcode, "alternateText": card.number},
        "loyaltyPoints": {"label": _("Points"), "balance": balance(card.balance)},
        "textModulesData": [level, progress] if card.level else [],
    }


def balance(points: float) -> dict[str, Any]:
    return {"int": points} if isinstance(points, int) else {"double": points}


def localized(text: str) -> dict[str, Any]:
    return {"defaultValue": {"language": LANGUAGE, "value": text}}
