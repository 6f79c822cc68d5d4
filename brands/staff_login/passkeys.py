"""Passkeys and security keys (WebAuthn Level 2): the options for the browser, and its answers."""

import base64
import json
import struct
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from fido2.server import Fido2Server
from fido2.webauthn import (
    AttestedCredentialData,
    AuthenticationResponse,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialUserEntity,
    RegistrationResponse,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from brands.models.people import User
from brands.staff_login import factors
from brands.staff_login.factors import ISSUER
from brands.staff_login.models import Factor
from core.errors import Invalid

KEY = "passkey_state"  # in the session, until the answer arrives
MAX_ANSWER_LENGTH = 20_000
# What fido2 raises for an answer that is not one of a passkey: it checks neither lengths nor depth of the CBOR in it.
# NotImplementedError: the passkey's algorithm is unknown.
MALFORMED = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    RecursionError,
    NotImplementedError,
    struct.error,
)


def registration(request: HttpRequest, user: User) -> dict[str, Any]:
    """The options of navigator.credentials.create, as JSON. The challenge is kept in the session."""
    options, state = server(request).register_begin(
        PublicKeyCredentialUserEntity(
            id=f"staff-{user.pk}".encode(), name=user.email, display_name=user.get_full_name()
        ),
        credentials=[credential_of(factor) for factor in factors.passkeys_of(user)],
        resident_key_requirement=ResidentKeyRequirement.DISCOURAGED,
        user_verification=UserVerificationRequirement.PREFERRED,
    )
    request.session[KEY] = {**state, "user": user.pk, "for": "add"}
    return dict(options)


def register(request: HttpRequest, user: User, *, name: str, answer: str) -> Factor:
    """Raises Invalid for a malformed answer, one to another challenge, or one from another origin."""
    state, response = _state(request, user, "add"), read(answer)
    try:
        data = server(request).register_complete(state, response)
        counter = RegistrationResponse.from_dict(response).response.attestation_object.auth_data.counter
    except MALFORMED:
        raise rejected() from None
    if data.credential_data is None:
        raise rejected()
    credential = base64.b64encode(bytes(data.credential_data)).decode()
    return factors.add_passkey(user=user, name=name, credential=credential, counter=counter)


def question(request: HttpRequest, user: User) -> dict[str, Any] | None:
    """The options of navigator.credentials.get; None for a user without passkeys."""
    credentials = [credential_of(factor) for factor in factors.passkeys_of(user)]
    if not credentials:
        return None
    options, state = server(request).authenticate_begin(
        credentials, user_verification=UserVerificationRequirement.PREFERRED
    )
    request.session[KEY] = {**state, "user": user.pk, "for": "prove"}
    return dict(options)


def accepts(request: HttpRequest, user: User, *, answer: str, at: datetime) -> bool:
    """Whether one of the user's passkeys signed our challenge. A counter that does not grow indicates a copied key."""
    try:
        state, response = _state(request, user, "prove"), read(answer)
        known = {factor.pk: (factor, credential_of(factor)) for factor in factors.passkeys_of(user)}
        used = server(request).authenticate_complete(state, [each for _factor, each in known.values()], response)
        counter = AuthenticationResponse.from_dict(response).response.authenticator_data.counter
    except (Invalid, *MALFORMED):
        return False
    factor = next(each for each, data in known.values() if data.credential_id == used.credential_id)
    if counter or factor.last_counter > 0:
        return factors.use(factor=factor, counter=counter, at=at)
    factors.use_without_counter(factor=factor, at=at)
    return True


def credential_of(factor: Factor) -> AttestedCredentialData:
    return AttestedCredentialData(base64.b64decode(factor.secret))


def server(request: HttpRequest) -> Fido2Server:
    """A passkey belongs to the hostname on which it was created, and works on no other."""
    host, origin = request.get_host(), f"{request.scheme}://{request.get_host()}"
    entity = PublicKeyCredentialRpEntity(id=host.partition(":")[0], name=ISSUER)
    return Fido2Server(entity, verify_origin=lambda verified_origin: verified_origin == origin)


def read(answer: str) -> Mapping[str, Any]:
    """Raises Invalid for text that is not a JSON object."""
    try:
        response = json.loads(answer[:MAX_ANSWER_LENGTH])
    except (ValueError, RecursionError):
        raise rejected() from None
    if not isinstance(response, dict):
        raise rejected()
    return response


def _state(request: HttpRequest, user: User, purpose: str) -> dict[str, Any]:
    """Take the challenge out of the session: a second answer to it finds none."""
    state = request.session.pop(KEY, None)
    if not state or state.pop("user") != user.pk or state.pop("for") != purpose:
        raise rejected()
    return dict(state)


def rejected() -> Invalid:
    return Invalid(_("The passkey did not answer as expected. Try again."))
