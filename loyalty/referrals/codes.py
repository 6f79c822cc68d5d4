"""Referral codes: the only code that writes ReferralCode. Codes are random and created when first needed."""

import secrets
import unicodedata

from brands.tenants.hostnames import hostname_of, site_at
from loyalty.models.accounts import UserPoints
from loyalty.models.programme.referrals import CODE_LENGTH, ReferralCode

# Letters and digits that are not easily confused: 24 characters, 8 positions, 110 thousand million codes.
ALPHABET = "ACDEFGHJKMNPQRTVWXY34679"
MAX_TYPED_LENGTH = 40  # in characters, including spaces and hyphens
MAX_DRAWS = 10


def code_of(account: UserPoints) -> str:
    """The member's code, created if there is none. Concurrent calls return the same code."""
    for _draw in range(MAX_DRAWS):
        known = ReferralCode.objects.filter(account=account).values_list("code", flat=True).first()
        if known is not None:
            return known
        drawn = "".join(secrets.choice(ALPHABET) for _sign in range(CODE_LENGTH))
        row = ReferralCode(brand_id=account.brand_id, account=account, code=drawn)
        ReferralCode.objects.bulk_create([row], ignore_conflicts=True)  # another member may have the same random code
    raise RuntimeError("no free referral code was drawn")


def display(code: str) -> str:
    """In two groups of four, for reading."""
    return f"{code[:4]}-{code[4:]}"


def normalised(text: str) -> str:
    """The code in a typed text: in capitals, without spaces and hyphens."""
    plain = unicodedata.normalize("NFKC", text[:MAX_TYPED_LENGTH])
    digits = {sign: str(unicodedata.digit(sign)) for sign in set(plain) if unicodedata.category(sign) == "Nd"}
    return "".join(digits.get(sign, sign) for sign in plain.upper() if sign.isalnum())


def account_of(*, brand_id: int, code: str) -> UserPoints | None:
    """The active member of the brand with this code."""
    rows = UserPoints.objects.filter(brand_id=brand_id, status=UserPoints.Status.ACTIVE, user__is_active=True)
    return rows.filter(referral_code__brand_id=brand_id, referral_code__code=code).first() if code else None


def link_of(*, brand_id: int, code: str) -> str:
    """The brand's registration page with the code filled in, or "" for a brand without a hostname."""
    hostname = hostname_of(brand_id)
    return f"{site_at(hostname)}/s/?ref={code}" if hostname else ""


def erase(*, user_id: int, brand_id: int) -> None:
    """For the erasure of personal data: the person can no longer refer anyone."""
    ReferralCode.objects.filter(account__user_id=user_id, brand_id=brand_id).delete()
