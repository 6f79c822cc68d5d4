"""The sender of a request: a bearer token, an API key or a member of staff; and the form of a 401."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from django.urls import path
from django.utils import timezone
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.errors import ApiKeyInvalid
from brands.identity import api_keys, authentication, tokens
from brands.models.people import StaffRole, User
from brands.tenants import request_brands
from core.errors import RateLimited, TokenInvalid
from core.redis import client
from tests.support import factories

pytestmark = pytest.mark.urls(__name__)


class CurrentUser(APIView):
    permission_classes = (AllowAny,)

    def get(self, request):
        return Response(
            {"email": getattr(request.user, "email", None), "brand_id": getattr(request.auth, "brand_id", 0)}
        )


class Members(APIView):
    def get(self, request):
        return Response({"email": request.user.email})


class Staff(Members):
    authentication_classes = authentication.SESSION_OR_BEARER

    def post(self, request):
        return self.get(request)


class CallerKind(APIView):
    authentication_classes = ()
    permission_classes = (AllowAny,)

    def get(self, request):
        return Response({"kind": authentication.required_caller(request).kind})


urlpatterns = [
    path("api/who", CurrentUser.as_view()),
    path("api/members", Members.as_view()),
    path("api/staff", Staff.as_view()),
    path("api/key", CallerKind.as_view()),
]


@pytest.fixture
def access(customer, brand):
    return tokens.issue(user=customer, brand=brand, at=timezone.now()).access


def get(address, authorization=None, **headers):
    all_headers = {"Authorization": authorization, **headers}
    return Client().get(address, headers={name: value for name, value in all_headers.items() if value is not None})


def error_of(response):
    return response.status_code, response.json()["error"]


def test_bearer_token_identifies_its_user_and_brand(access, customer, brand):
    assert get("/api/who", f"Bearer {access}").json() == {"email": customer.email, "brand_id": brand.pk}


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", " Bearer ", "Bearer  "])
def test_bearer_scheme_ignores_case_and_spacing(access, customer, scheme):
    assert get("/api/who", f"{scheme} {access}").json()["email"] == customer.email


def test_request_without_a_header_is_anonymous(db):
    assert get("/api/who").json() == {"email": None, "brand_id": 0}


@pytest.mark.parametrize("header", ["", " ", "Bearer", "Bearer ", "Basic dTpw", "Bearer a b", "Bearer x.y.z", "x", "é"])
def test_malformed_header_is_rejected(db, header):
    assert error_of(get("/api/who", header)) == (401, "TOKEN_INVALID")


def test_deactivated_user_is_rejected_on_the_next_call(access, customer):
    assert get("/api/who", f"Bearer {access}").status_code == 200

    User.objects.update(is_active=False)

    assert error_of(get("/api/who", f"Bearer {access}")) == (401, "TOKEN_INVALID")


def test_deleted_user_is_rejected(access, customer):
    customer.points_rows.all().delete()
    customer.delete()

    assert error_of(get("/api/who", f"Bearer {access}")) == (401, "TOKEN_INVALID")


@pytest.mark.parametrize(
    ("address", "headers", "error"),
    [
        ("/api/members", {}, "AUTHENTICATION_REQUIRED"),
        ("/api/staff", {}, "AUTHENTICATION_REQUIRED"),
        ("/api/members", {"Authorization": "Bearer x"}, "TOKEN_INVALID"),
        ("/api/key", {}, "API_KEY_INVALID"),
    ],
)
def test_401_has_a_www_authenticate_header(db, address, headers, error):
    response = Client().get(address, headers=headers)

    assert error_of(response) == (401, error)
    assert response["WWW-Authenticate"] == "Bearer"


def test_user_is_loaded_by_one_statement(access, django_assert_num_queries):
    with django_assert_num_queries(1):
        get("/api/who", f"Bearer {access}")


def test_loaded_user_has_all_its_fields(customer):
    loaded = authentication.active_user(customer.pk)
    fresh = User.objects.get(pk=customer.pk)

    assert {field: getattr(loaded, field) for field in authentication.USER_FIELDS} == {
        field: getattr(fresh, field) for field in authentication.USER_FIELDS
    }
    assert loaded.date_joined == fresh.date_joined
    assert not loaded._state.adding


def test_loaded_fields_are_in_the_models_order():
    order = [field.attname for field in User._meta.concrete_fields]

    assert sorted(authentication.USER_FIELDS, key=order.index) == authentication.USER_FIELDS


# --- Keys ------------------------------------------------------------------------------------------------------------


def test_api_key_is_read_from_its_header(brand):
    _, text = api_keys.create(brand=brand, kind="app", name="App", at=timezone.now())

    assert get("/api/key", **{"api-key": text}).json() == {"kind": "app"}


def test_invalid_key_is_rejected_even_where_none_is_required(rf, db):
    assert authentication.caller_of(rf.get("/")) is None
    with pytest.raises(ApiKeyInvalid):
        authentication.caller_of(rf.get("/", headers={"api-key": "hub_unknown"}))


def test_app_key_calls_of_one_network_block_neither_other_networks_nor_the_hub(rf, brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "brand": "20/minute"}
    for key in client.client().scan_iter(f"*/brand/{brand.pk}/*"):  # a new database starts its ids from one again
        client.client().delete(key)
    texts = {kind: api_keys.create(brand=brand, kind=kind, name=kind, at=timezone.now())[1] for kind in ("app", "hub")}

    def call(kind, address):
        return authentication.caller_of(rf.get("/", headers={"api-key": texts[kind]}, REMOTE_ADDR=address))

    for _ in range(2):
        call("app", "10.0.0.1")
    with pytest.raises(RateLimited):
        call("app", "10.0.0.1")

    assert call("app", "10.0.0.2").kind == "app"
    assert [call("hub", "10.0.0.1").kind for _ in range(20)] == ["hub"] * 20


# --- Staff -----------------------------------------------------------------------------------------------------------


def test_staff_may_read_with_the_session_cookie(brand):
    staff = factories.user(is_staff=True)
    client = Client()
    client.force_login(staff)

    assert client.get("/api/staff").json() == {"email": staff.email}


def test_staff_may_read_with_a_token(brand):
    staff = factories.user(is_staff=True)
    access = tokens.issue(user=staff, brand=brand, at=timezone.now()).access

    assert get("/api/staff", f"Bearer {access}").json() == {"email": staff.email}


def test_session_cookie_without_csrf_token_cannot_write(brand):
    client = Client(enforce_csrf_checks=True)
    client.force_login(factories.user(is_staff=True))

    assert error_of(client.post("/api/staff")) == (403, "FORBIDDEN")


@pytest.mark.parametrize("role", StaffRole.Role.values)
def test_staff_have_a_role_only_at_their_own_brand(brand, role):
    staff = factories.user(is_staff=True)
    StaffRole.objects.create(user=staff, brand=brand, role=role)

    assert authentication.staff_role(staff, brand.pk) == role
    assert authentication.staff_role(staff, factories.brand().pk) is None


def test_superuser_has_the_owner_role_at_every_brand(brand):
    assert authentication.staff_role(factories.user(is_staff=True, is_superuser=True), brand.pk) == StaffRole.Role.OWNER


@pytest.mark.parametrize("fields", [{"is_staff": False}, {"is_staff": True, "is_active": False}])
def test_user_who_may_not_log_in_has_no_role(brand, fields):
    user = factories.user(**fields)
    StaffRole.objects.create(user=user, brand=brand, role="owner")

    assert authentication.staff_role(user, brand.pk) is None


def test_guest_has_no_role(brand):
    assert authentication.staff_role(AnonymousUser(), brand.pk) is None


def test_bearer_token_of_an_event_needs_the_bearer_scheme():
    assert authentication.bearer("Bearer a.b.c") == "a.b.c"
    with pytest.raises(TokenInvalid):
        authentication.bearer("a.b.c")


def learned_brands(client, path, **headers):
    """Return the brands that the credentials of the request were resolved to."""
    with request_brands.learning() as party:
        client.get(path, headers=headers)
    return party.names


def test_brand_of_a_token_is_learned_only_for_an_active_user(client, access, brand, customer):
    assert learned_brands(client, "/api/who", authorization=f"Bearer {access}") == {
        request_brands.TOKEN: f"brand:{brand.pk}"
    }

    User.objects.filter(pk=customer.pk).update(is_active=False)

    assert learned_brands(client, "/api/who", authorization=f"Bearer {access}") == {}


def test_brand_of_an_unchecked_token_is_not_learned(client, brand):
    _key, text = api_keys.create(brand=brand, kind="hub", name="test", at=timezone.now())

    learned = learned_brands(client, "/api/key", authorization="Bearer junk", **{"api-key": text})

    assert learned == {request_brands.KEY: f"brand:{brand.pk}"}
