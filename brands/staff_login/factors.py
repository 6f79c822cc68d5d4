"""Second factors: the only code that adds, checks and removes authenticator apps, passkeys and recovery codes."""

import base64
import secrets
from collections.abc import Sequence
from datetime import datetime
from io import BytesIO

import pyotp
import qrcode
from django.db import IntegrityError, transaction
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables
from qrcode.image.svg import SvgPathImage

from brands.models.people import User
from brands.staff_login.models import Factor, RecoveryCode
from core.errors import Invalid

STEP_SECONDS = 30  # RFC 6238
DRIFT = 1  # steps that a clock may be ahead or behind
RECOVERY_CODES = 10
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's: no characters that look alike
RECOVERY_LENGTH = 10  # 50 bits
MAX_PASSKEYS = 10
ISSUER = "Loyalty portal"


def has_any(user: User) -> bool:
    return Factor.objects.filter(user=user).exists()


def new_seed() -> str:
    return pyotp.random_base32()


@sensitive_variables("seed")
def picture_of(seed: str, user: User) -> str:
    """The QR code for authenticator apps, as a data: address of an SVG image."""
    address = pyotp.TOTP(seed).provisioning_uri(name=user.email, issuer_name=ISSUER)
    content = BytesIO()
    qrcode.make(address, image_factory=SvgPathImage, box_size=20, border=2).save(content)
    return "data:image/svg+xml;base64," + base64.b64encode(content.getvalue()).decode()


@sensitive_variables("seed", "code")
def step_of(seed: str, code: str, at: datetime) -> int | None:
    """The time step of `code`, or None for a wrong or old one."""
    now = int(at.timestamp()) // STEP_SECONDS
    typed = code.replace(" ", "")
    hotp = pyotp.HOTP(seed)
    result = [step for step in range(now - DRIFT, now + DRIFT + 1) if constant_time_compare(hotp.at(step), typed)]
    return result[-1] if result else None


@sensitive_variables("seed", "code")
def add_app(*, user: User, seed: str, code: str, at: datetime) -> Factor:
    """Raises Invalid for a wrong code, and if the user already has an app."""
    step = step_of(seed, code, at)
    if step is None:
        raise Invalid(_("This code is wrong or has expired. Enter the code that the app shows now."))
    try:
        with transaction.atomic():
            return Factor.objects.create(user=user, kind=Factor.Kind.TOTP, secret=seed, last_counter=step)
    except IntegrityError:
        raise Invalid(_("You already have an authenticator app. Remove it first.")) from None


def add_passkey(*, user: User, name: str, credential: str, counter: int) -> Factor:
    """Raises Invalid if the user has MAX_PASSKEYS already."""
    if Factor.objects.filter(user=user, kind=Factor.Kind.PASSKEY).count() >= MAX_PASSKEYS:
        raise Invalid(_("You already have %(most)d passkeys. Remove one first.") % {"most": MAX_PASSKEYS})
    return Factor.objects.create(
        user=user,
        kind=Factor.Kind.PASSKEY,
        name=name[:60],
        secret=credential,
        last_counter=counter,
    )


@sensitive_variables("code")
def accepts(*, user: User, code: str, at: datetime) -> bool:
    """Whether `code` is the app's current one, or an unused recovery code. Each works once."""
    return _app_accepts(user, code, at) or _recovery_accepts(user, code, at)


@sensitive_variables("code")
def _app_accepts(user: User, code: str, at: datetime) -> bool:
    app = Factor.objects.filter(user=user, kind=Factor.Kind.TOTP).first()
    step = step_of(app.secret, code, at) if app else None
    return app is not None and step is not None and use(factor=app, counter=step, at=at)


@sensitive_variables("code")
def _recovery_accepts(user: User, code: str, at: datetime) -> bool:
    rows = RecoveryCode.objects.filter(user=user, digest=digest_of(user, code), used_at=None)
    return rows.update(used_at=at) == 1


def use(*, factor: Factor, counter: int, at: datetime) -> bool:
    """Record a use. False if this counter or a later one was recorded before, so that each works once."""
    rows = Factor.objects.filter(pk=factor.pk, last_counter__lt=counter)
    return rows.update(last_counter=counter, last_used_at=at) == 1


def use_without_counter(*, factor: Factor, at: datetime) -> None:
    """For passkeys that do not count their signatures; the challenge makes each answer valid once."""
    Factor.objects.filter(pk=factor.pk).update(last_used_at=at)


def passkeys_of(user: User) -> Sequence[Factor]:
    return list(Factor.objects.filter(user=user, kind=Factor.Kind.PASSKEY))


def remove(*, factor: Factor) -> None:
    """Recovery codes replace factors, and are deleted with the last one."""
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=factor.user_id)
        Factor.objects.filter(pk=factor.pk).delete()
        if not has_any(factor.user):
            RecoveryCode.objects.filter(user=factor.user).delete()


def remove_all(*, user: User) -> None:
    Factor.objects.filter(user=user).delete()
    RecoveryCode.objects.filter(user=user).delete()


def new_recovery_codes(*, user: User) -> list[str]:
    """Create ten codes, which are shown once. They replace all earlier ones."""
    codes = ["".join(secrets.choice(ALPHABET) for _number in range(RECOVERY_LENGTH)) for _code in range(RECOVERY_CODES)]
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        RecoveryCode.objects.filter(user=user).delete()
        RecoveryCode.objects.bulk_create(RecoveryCode(user=user, digest=digest_of(user, code)) for code in codes)
    return [f"{code[:5]}-{code[5:]}" for code in codes]


def recovery_codes_left(user: User) -> int:
    return RecoveryCode.objects.filter(user=user, used_at=None).count()


@sensitive_variables("code")
def digest_of(user: User, code: str) -> bytes:
    plain = code.lower().replace("-", "").replace(" ", "").replace("o", "0").replace("i", "1").replace("l", "1")
    return salted_hmac(f"staff recovery code {user.pk}", plain, algorithm="sha256").digest()
