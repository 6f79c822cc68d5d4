"""A brand's identity provider can log in only that brand's staff, only for that brand, whatever it claims."""

import time
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from brands.models.people import StaffRole, User
from brands.staff_login import factors, oidc
from brands.staff_login.models import SignInSettings, StaffSession
from core.errors import Unavailable
from tests.brands.staff_login import provider as providers
from tests.brands.staff_login.provider import finish_sign_in, sign_in, start_sign_in
from tests.brands.staff_login.signing_in import add_app, code_of, is_logged_in
from tests.support import factories
from tests.support.portal import staff

LOGIN_ERROR = "cannot log you in here"


def test_staff_of_the_brand_are_logged_in(brand, colleague, provider, web_client):
    response = sign_in(web_client, brand, provider)

    assert response.headers["Location"] == "/admin/"
    assert is_logged_in(web_client)
    assert StaffSession.objects.get().brand == brand


def test_first_page_is_that_of_the_role_at_the_providers_brand(brand, colleague, provider, web_client):
    StaffRole.objects.filter(user=colleague).update(role="support")
    StaffRole.objects.create(user=colleague, brand=factories.brand(), role="owner")

    assert sign_in(web_client, brand, provider).headers["Location"] == "/admin/loyalty/redemption/till/"


def test_authorization_request_has_state_nonce_and_a_challenge(brand, provider, web_client):
    query = parse_qs(urlsplit(start_sign_in(web_client, brand).headers["Location"]).query)

    assert query["response_type"] == ["code"]
    assert query["code_challenge_method"] == ["S256"]
    assert query["redirect_uri"] == [f"http://testserver/admin/sign-in/{brand.slug}/done/"]
    assert min(len(query[name][0]) for name in ("state", "nonce", "code_challenge")) >= 43


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"aud": "somebody else"},
        {"aud": [providers.CLIENT_ID, "somebody else"]},
        {"azp": "somebody else"},
        {"nonce": "another"},
        {"nonce": None},
        {"nonce": "\ud800"},
        {"nonce": 5},
        {"email_verified": False},
        {"email_verified": "true"},
        {"email_verified": None},
        {"email": None},
        {"email": ["colleague@example.com"]},
        {"email": "colleague\0@example.com"},
        {"email": "colleague\ud800@example.com"},
        {"exp": 1_000_000_000},
        {"exp": None},
        {"iat": None},
        {"sub": None},
    ],
)
def test_token_with_an_invalid_claim_is_rejected(brand, provider, web_client, claims):
    provider.claims = claims

    response = sign_in(web_client, brand, provider)

    assert LOGIN_ERROR in response.content.decode()
    assert not is_logged_in(web_client)


@pytest.mark.parametrize("email", ["", " "])
def test_empty_address_is_rejected_even_if_a_colleague_has_none(brand, colleague, provider, web_client, email):
    User.objects.filter(pk=colleague.pk).update(email="")
    provider.email = email

    assert LOGIN_ERROR in sign_in(web_client, brand, provider).content.decode()
    assert not is_logged_in(web_client)


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_token_without_the_providers_signature_is_rejected(brand, provider, web_client, algorithm):
    provider.algorithm = algorithm

    assert LOGIN_ERROR in sign_in(web_client, brand, provider).content.decode()
    assert not is_logged_in(web_client)


def test_token_signed_with_another_key_is_rejected(brand, provider, web_client):
    provider.key = providers.key("of another")

    assert LOGIN_ERROR in sign_in(web_client, brand, provider).content.decode()
    assert not is_logged_in(web_client)


@pytest.mark.parametrize(
    "changed", [{"state": "another"}, {"state": ""}, {"iss": "https://evil.example"}, {"code": ""}]
)
def test_answer_to_another_request_is_rejected(brand, provider, web_client, changed):
    parameters = {**provider.authorize(start_sign_in(web_client, brand).headers["Location"]), **changed}

    assert LOGIN_ERROR in finish_sign_in(web_client, brand, parameters).content.decode()
    assert not is_logged_in(web_client)


def test_answer_is_valid_once_and_only_in_its_own_browser(brand, provider, web_client):
    parameters = provider.authorize(start_sign_in(web_client, brand).headers["Location"])
    other_browser = Client()

    assert LOGIN_ERROR in finish_sign_in(other_browser, brand, parameters).content.decode()
    finish_sign_in(web_client, brand, parameters)
    assert is_logged_in(web_client)
    assert LOGIN_ERROR in finish_sign_in(web_client, brand, parameters).content.decode()


def test_code_of_another_request_is_rejected_by_pkce(brand, provider, web_client):
    other_answer = provider.authorize(start_sign_in(Client(), brand).headers["Location"])
    own_answer = provider.authorize(start_sign_in(web_client, brand).headers["Location"])

    response = finish_sign_in(web_client, brand, {**own_answer, "code": other_answer["code"]})

    assert LOGIN_ERROR in response.content.decode()
    assert not is_logged_in(web_client)


def users_without_access(brand):
    return {
        "a stranger": lambda: "nobody@example.com",
        "another brand's owner": lambda: staff(factories.brand()).email,
        "a customer": lambda: factories.customer(brand).email,
        "a superuser": lambda: staff(brand, is_superuser=True).email,
        "one who was switched off": lambda: staff(brand, is_active=False).email,
        "one who may not log in": lambda: (
            StaffRole.objects.create(user=factories.user(), brand=brand, role="owner").user.email
        ),
    }


@pytest.mark.parametrize("user_kind", users_without_access(None))
def test_provider_can_log_in_only_its_own_brands_staff(brand, provider, web_client, user_kind):
    provider.email = users_without_access(brand)[user_kind]()
    before = User.objects.count()

    response = sign_in(web_client, brand, provider)

    assert LOGIN_ERROR in response.content.decode()
    assert not is_logged_in(web_client)
    assert User.objects.count() == before


def test_answer_is_rejected_at_another_brands_callback(brand, provider, web_client):
    other = factories.brand()
    own_settings = SignInSettings.objects.get()
    SignInSettings.objects.create(
        brand=other,
        oidc_active=True,
        oidc_issuer=own_settings.oidc_issuer,
        oidc_client_id=own_settings.oidc_client_id,
        oidc_client_secret=own_settings.oidc_client_secret,
    )
    StaffRole.objects.create(user=User.objects.get(email=provider.email), brand=other, role="owner")
    parameters = provider.authorize(start_sign_in(web_client, brand).headers["Location"])

    assert LOGIN_ERROR in finish_sign_in(web_client, other, parameters).content.decode()
    assert not is_logged_in(web_client)


# --- Second factors ---------------------------------------------------------------------------------------------------
def test_required_factor_is_checked_after_sign_in_but_cannot_be_set_up(brand, colleague, provider, web_client):
    SignInSettings.objects.update(second_factor_required=True)

    rejected = sign_in(web_client, brand, provider)
    seed = add_app(colleague)
    challenged = sign_in(web_client, brand, provider)
    setup = web_client.get("/admin/second-factor/set-up/")
    web_client.post("/admin/second-factor/", {"code": code_of(seed)})

    assert "Log in with your password once" in rejected.content.decode()
    assert challenged.headers["Location"] == setup.headers["Location"] == "/admin/second-factor/"
    assert is_logged_in(web_client)
    assert StaffSession.objects.get().brand == brand


def test_second_factor_reported_by_the_provider_counts(brand, provider, web_client):
    SignInSettings.objects.update(second_factor_required=True)
    provider.claims = {"amr": ["pwd", "otp"]}

    sign_in(web_client, brand, provider)

    assert is_logged_in(web_client)


def test_login_starts_again_if_the_factors_are_removed_before_the_second_step(brand, colleague, provider, web_client):
    add_app(colleague)
    SignInSettings.objects.update(second_factor_required=True)
    sign_in(web_client, brand, provider)
    factors.remove_all(user=colleague)

    answer = web_client.get("/admin/second-factor/", follow=True)

    assert answer.request["PATH_INFO"] == "/admin/login/"
    assert not is_logged_in(web_client)


# --- Providers that do not answer -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "discovery",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": None},
        {"token_endpoint": "file:///etc/passwd"},
        {"jwks_uri": 7},
        {"token_endpoint_auth_methods_supported": 7},
    ],
)
def test_provider_with_an_invalid_discovery_document_is_not_used(brand, provider, web_client, discovery):
    provider.discovery = discovery

    assert "is not responding correctly" in start_sign_in(web_client, brand).content.decode()


def test_provider_on_a_private_network_is_not_called(brand, provider, web_client, settings):
    settings.OUTGOING_PRIVATE_NETWORKS = []

    assert "is not responding correctly" in start_sign_in(web_client, brand).content.decode()
    assert provider.calls == []


def test_slow_provider_is_given_up_after_the_timeout(brand, provider, web_client, monkeypatch):
    monkeypatch.setattr(oidc, "TIMEOUT_SECONDS", 0.3)
    provider.delay_seconds = 20
    started_at = time.monotonic()

    assert "is not responding correctly" in start_sign_in(web_client, brand).content.decode()
    assert time.monotonic() - started_at < 10


def test_brand_takes_only_one_of_the_two_slots():
    slots = oidc.ProviderSlots()
    with slots.acquire(1):
        with pytest.raises(Unavailable), slots.acquire(1):
            pass
        with slots.acquire(2), pytest.raises(Unavailable), slots.acquire(3):
            pass
    with slots.acquire(1):
        pass


def test_two_slow_providers_leave_a_slot_to_a_third():
    now = [0.0]
    slots = oidc.ProviderSlots(clock=lambda: now[0])
    for brand_id in (1, 2):
        with slots.acquire(brand_id):
            now[0] += 3
    with slots.acquire(1):
        with pytest.raises(Unavailable), slots.acquire(2):
            pass
        with slots.acquire(3):
            pass
    with slots.acquire(3), slots.acquire(1):
        pass  # a provider in constant use does not exclude a slow one
    now[0] += oidc.SLOW_FOR_SECONDS
    with slots.acquire(1), slots.acquire(2):
        pass


@pytest.mark.parametrize("reason", ["no provider", "switched off", "no brand"])
def test_brand_without_a_provider_has_no_sign_in_page(brand, provider, web_client, reason):
    if reason == "switched off":
        SignInSettings.objects.update(oidc_active=False)
    slug = {"no provider": factories.brand().slug, "switched off": brand.slug, "no brand": "nobody"}[reason]

    assert web_client.get(f"/admin/sign-in/{slug}/").status_code == 404
    assert web_client.get(f"/admin/sign-in/{slug}/done/").status_code == 404
