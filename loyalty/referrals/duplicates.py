"""Whether a member and the friend they refer are one person, by what the brand holds of both anyway."""

from loyalty.models.accounts import UserPoints
from loyalty.models.notifications import NotificationPreference
from loyalty.models.programme.referrals import Referral
from loyalty.models.wallets import WalletDevice

Why = Referral.Why
# One mailbox under several names: at these providers whatever follows a plus sign, and at Google's any dot, is ignored.
WITHOUT_DOTS = {"gmail.com": "gmail.com", "googlemail.com": "gmail.com"}
WITH_TAGS = {
    *WITHOUT_DOTS,
    "outlook.com",
    "hotmail.com",
    "live.com",
    "msn.com",
    "icloud.com",
    "me.com",
    "mac.com",
    "fastmail.com",
    "proton.me",
    "protonmail.com",
    "pm.me",
    "gmx.net",
    "gmx.de",
    "web.de",
    "zoho.com",
}


def mailbox(email: str) -> str:
    """The mailbox that an address leads to, however it is written."""
    local, _at, domain = email.strip().lower().rpartition("@")
    if domain in WITH_TAGS:
        local = local.partition("+")[0]
    if domain in WITHOUT_DOTS:
        local, domain = local.replace(".", ""), WITHOUT_DOTS[domain]
    if domain.partition(".")[0] == "yahoo":
        local = local.partition("-")[0]
    return f"{local}@{domain}"


def why_same(referrer: UserPoints, friend: UserPoints) -> Referral.Why:
    """What the two share; NONE where nothing says that they are one person."""
    if mailbox(referrer.user.email) == mailbox(friend.user.email):
        return Why.EMAIL
    if _shares_phone(referrer, friend):
        return Why.PHONE
    return Why.DEVICE if _shares_device(referrer, friend) else Why.NONE


def _shares_phone(referrer: UserPoints, friend: UserPoints) -> bool:
    rows = NotificationPreference.objects.filter(
        brand_id=referrer.brand_id, user__in=[referrer.user_id, friend.user_id]
    ).exclude(phone="")
    phones = list(rows.values_list("phone", flat=True))
    return len(phones) == 2 and phones[0] == phones[1]


def _shares_device(referrer: UserPoints, friend: UserPoints) -> bool:
    """A phone that holds the passes of both. A push token cannot tell: it is one customer's, whoever logged in last."""
    own = WalletDevice.objects.filter(wallet_pass__account=referrer).values("device")
    return WalletDevice.objects.filter(wallet_pass__account=friend, device__in=own).exists()
