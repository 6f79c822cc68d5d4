"""Whether a member and their friend are the same person, from data that the brand already has."""

from loyalty.models.accounts import UserPoints
from loyalty.models.notifications import NotificationPreference
from loyalty.models.programme.referrals import Referral
from loyalty.models.wallets import WalletDevice

Why = Referral.Why
# Several addresses of one mailbox: these providers ignore what follows a plus sign, and Google ignores dots.
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
    """The canonical address of a mailbox. At Yahoo, a hyphen begins a tag."""
    local, _at, domain = email.strip().lower().rpartition("@")
    if domain in WITH_TAGS:
        local = local.partition("+")[0]
    if domain in WITHOUT_DOTS:
        local, domain = local.replace(".", ""), WITHOUT_DOTS[domain]
    if domain.partition(".")[0] == "yahoo":
        local = local.partition("-")[0]
    return f"{local}@{domain}"


def why_same(referrer: UserPoints, friend: UserPoints) -> Referral.Why:
    """What the two accounts share, or NONE without a sign that they are one person."""
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
    """Whether a phone has both passes. Push tokens prove nothing: each belongs to the customer who last logged in."""
    own = WalletDevice.objects.filter(wallet_pass__account=referrer).values("device")
    return WalletDevice.objects.filter(wallet_pass__account=friend, device__in=own).exists()
