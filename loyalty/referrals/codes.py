"""Codes by which members refer friends: the only code that writes ReferralCode. Drawn at random, when first needed."""

import secrets
import unicodedata

from brands.tenants.hostnames import hostname_of, site_at
from loyalty.models.accounts import UserPoints
from loyalty.models.programme.referrals import CODE_LENGTH, ReferralCode

# Letters and digits that nobody takes for one another: 24 of them, eight times, are 110 thousand million codes.
ALPHABET = "ACDEFGHJKMNPQRTVWXY34679"
MAX_TYPED_LENGTH = 40  # characters, with spaces and hyphens
MAX_DRAWS = 10


def code_of(account: UserPoints) -> str:
    """The member's code, drawn now if there is none. Two who ask at once get the same one."""
    for _draw in range(MAX_DRAWS):
        known = ReferralCode.objects.filter(account=account).values_list("code", flat=True).first()
        if known is not None:
            return known
        drawn = "".join(secrets.choice(ALPHABET) for _sign in range(CODE_LENGTH))
        row = ReferralCode(brand_id=account.brand_id, account=account, code=drawn)
        ReferralCode.objects.bulk_create([row], ignore_conflicts=True)  # another member may have drawn the same
    raise RuntimeError("no free referral code was drawn")


def display(code: str) -> str:
    """In two groups of four, as people read it."""
    return f"{code[:4]}-{code[4:]}"


def normalised(text: str) -> str:
    """The code in what somebody typed: without spaces and hyphens, in capital letters."""
    plain = unicodedata.normalize("NFKC", text[:MAX_TYPED_LENGTH])
    digits = {sign: str(unicodedata.digit(sign)) for sign in set(plain) if unicodedata.category(sign) == "Nd"}
    return "".join(digits.get(sign, sign) for sign in plain.upper() if sign.isalnum())


def account_of(*, brand_id: int, code: str) -> UserPoints | None:
    """The active member of the brand whose code it is."""
    rows = UserPoints.objects.filter(brand_id=brand_id, status=UserPoints.Status.ACTIVE, user__is_active=True)
    return rows.filter(referral_code__brand_id=brand_id, referral_code__code=code).first() if code else None


def link_of(*, brand_id: int, code: str) -> str:
    """The brand's page that friends register on, with the code filled in; empty for a brand without a hostname."""
    hostname = hostname_of(brand_id)
    return f"{site_at(hostname)}/s/?ref={code}" if hostname else ""


def erase(*, user_id: int, brand_id: int) -> None:
    """For the erasure of a person's data: nobody can be referred by them any more."""
    ReferralCode.objects.filter(account__user_id=user_id, brand_id=brand_id).delete()
