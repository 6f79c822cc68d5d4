"""A brand's identity provider lets in that brand's staff, into that brand, and nobody else, whatever it says."""

import time
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from brands.models.people import StaffRole, User
from brands.staff_login import oidc
from brands.staff_login.models import SignInSettings, StaffSession
from core.errors import Unavailable
from tests.brands.staff_login import provider as providers
from tests.brands.staff_login.provider import sign_in, way_back, way_there
from tests.brands.staff_login.signing_in import code_of, is_in, with_app
from tests.support import factories
from tests.support.portal import staff

REFUSED = "cannot log you in here"


def test_staff_of_the_brand_come_in(brand, colleague, provider, window):
    response = sign_in(window, brand, provider)

    assert response.headers["Location"] == "/admin/"
    assert is_in(window)
    assert StaffSession.objects.get().brand == brand


def test_the_question_has_state_nonce_and_a_challenge(brand, provider, window):
    query = parse_qs(urlsplit(way_there(window, brand).headers["Location"]).query)

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
        {"email_verified": False},
        {"email_verified": "true"},
        {"email_verified": None},
        {"email": None},
        {"email": ["colleague@example.com"]},
        {"exp": 1_000_000_000},
        {"exp": None},
        {"iat": None},
        {"sub": None},
    ],
)
def test_a_token_that_is_not_for_this_sign_in_is_refused(brand, provider, window, claims):
    provider.claims = claims

    response = sign_in(window, brand, provider)

    assert REFUSED in response.content.decode()
    assert not is_in(window)


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_a_token_without_a_signature_of_the_providers_is_refused(brand, provider, window, algorithm):
    provider.algorithm = algorithm

    assert REFUSED in sign_in(window, brand, provider).content.decode()
    assert not is_in(window)


def test_a_token_signed_by_another_key_is_refused(brand, provider, window):
    provider.key = providers.key("of another")

    assert REFUSED in sign_in(window, brand, provider).content.decode()
    assert not is_in(window)


@pytest.mark.parametrize(
    "changed", [{"state": "another"}, {"state": ""}, {"iss": "https://evil.example"}, {"code": ""}]
)
def test_an_answer_to_another_question_is_refused(brand, provider, window, changed):
    brought = {**provider.agree(way_there(window, brand).headers["Location"]), **changed}

    assert REFUSED in way_back(window, brand, brought).content.decode()
    assert not is_in(window)


def test_an_answer_is_good_once_and_in_its_own_browser(brand, provider, window):
    brought = provider.agree(way_there(window, brand).headers["Location"])
    stranger = Client()

    assert REFUSED in way_back(stranger, brand, brought).content.decode()
    way_back(window, brand, brought)
    assert is_in(window)
    assert REFUSED in way_back(window, brand, brought).content.decode()


def test_a_code_of_another_question_is_refused_by_pkce(brand, provider, window):
    other_answer = provider.agree(way_there(Client(), brand).headers["Location"])
    own_answer = provider.agree(way_there(window, brand).headers["Location"])

    response = way_back(window, brand, {**own_answer, "code": other_answer["code"]})

    assert REFUSED in response.content.decode()


def people(brand):
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


@pytest.mark.parametrize("who", people(None))
def test_a_provider_speaks_for_its_own_brands_staff_alone(brand, provider, window, who):
    provider.email = people(brand)[who]()
    before = User.objects.count()

    response = sign_in(window, brand, provider)

    assert REFUSED in response.content.decode()
    assert not is_in(window)
    assert User.objects.count() == before


def test_another_brands_way_back_takes_no_answer(brand, provider, window):
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
    brought = provider.agree(way_there(window, brand).headers["Location"])

    assert REFUSED in way_back(window, other, brought).content.decode()
    assert not is_in(window)


# --- Second factors ---------------------------------------------------------------------------------------------------
def test_where_a_factor_is_required_it_is_asked_but_never_set_up_this_way(brand, colleague, provider, window):
    SignInSettings.objects.update(second_factor_required=True)

    refused = sign_in(window, brand, provider)
    seed = with_app(colleague)
    challenged = sign_in(window, brand, provider)
    setup = window.get("/admin/second-factor/set-up/")
    window.post("/admin/second-factor/", {"code": code_of(seed)})

    assert "Log in with your password once" in refused.content.decode()
    assert challenged.headers["Location"] == setup.headers["Location"] == "/admin/second-factor/"
    assert is_in(window)
    assert StaffSession.objects.get().brand == brand


def test_what_the_provider_saw_counts_as_a_second_factor(brand, provider, window):
    SignInSettings.objects.update(second_factor_required=True)
    provider.claims = {"amr": ["pwd", "otp"]}

    sign_in(window, brand, provider)

    assert is_in(window)


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
    ],
)
def test_a_provider_that_describes_itself_wrongly_is_not_gone_to(brand, provider, window, discovery):
    provider.discovery = discovery

    assert "is not responding correctly" in way_there(window, brand).content.decode()


def test_a_private_address_is_not_called(brand, provider, window, settings):
    settings.OUTGOING_PRIVATE_NETWORKS = []

    assert "is not responding correctly" in way_there(window, brand).content.decode()
    assert provider.calls == []


def test_a_slow_provider_is_given_up_and_takes_one_place(brand, provider, window, monkeypatch):
    monkeypatch.setattr(oidc, "TIMEOUT_SECONDS", 0.3)
    provider.waits = 20
    began = time.monotonic()

    assert "is not responding correctly" in way_there(window, brand).content.decode()
    assert time.monotonic() - began < 10


def test_a_brand_takes_one_place_and_leaves_one_to_others():
    slots = oidc.ProviderSlots()
    with slots.acquire(1):
        with pytest.raises(Unavailable), slots.acquire(1):
            pass
        with slots.acquire(2), pytest.raises(Unavailable), slots.acquire(3):
            pass
    with slots.acquire(1):
        pass


def test_two_slow_providers_leave_a_place_to_a_third():
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
        pass  # a provider that is always being asked keeps no slow one out
    now[0] += oidc.SLOW_FOR_SECONDS
    with slots.acquire(1), slots.acquire(2):
        pass


@pytest.mark.parametrize("why", ["no provider", "switched off", "no brand"])
def test_a_brand_without_a_provider_has_no_sign_in_address(brand, provider, window, why):
    if why == "switched off":
        SignInSettings.objects.update(oidc_active=False)
    slug = {"no provider": factories.brand().slug, "switched off": brand.slug, "no brand": "nobody"}[why]

    assert window.get(f"/admin/sign-in/{slug}/").status_code == 404
    assert window.get(f"/admin/sign-in/{slug}/done/").status_code == 404
