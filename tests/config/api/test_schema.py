"""The API's description: complete, valid, and kept by what thousands of made-up requests are answered with."""

import json
import re
from collections import Counter, defaultdict

import pytest
import schemathesis
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.test import Client
from django.urls import get_resolver
from drf_spectacular.generators import SchemaGenerator
from hypothesis.configuration import set_hypothesis_home_dir
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

from authcodes.api.qr_images import image_address
from campaigns.models.campaigns import RewardClaim
from campaigns.models.earning_rules import EarningRule
from config.schema import SECURITY_SCHEMES, TAGS, error_table
from core.web.middleware import WholeBodies
from jobs.models import Job
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories, openapi
from tests.support.api import Api
from tests.support.factories import PASSWORD
from tests.support.fakes import wallets
from tests.support.portal import staff

OPERATIONS = [each for item in openapi.description()["paths"].values() for each in item.values()]
NAMES = [each["operationId"] for each in OPERATIONS]
STATUS = {code: kind.status for code, kind in error_table().items()}


def of(operation):
    return operation["operationId"]


def answers_in_json(operation):
    found = [each["content"] for status, each in operation["responses"].items() if status < "3" and "content" in each]
    return [content["application/json"] for content in found if "application/json" in content]


def hold_examples(content):
    assert content["examples"]
    for example in content["examples"].values():
        openapi.validator_of(json.dumps(content["schema"])).validate(example["value"])


# --- What it says ----------------------------------------------------------------------------------------------------


def test_schema_is_valid_and_nothing_in_it_was_guessed(tmp_path):
    file = tmp_path / "schema.yaml"

    call_command("spectacular", validate=True, fail_on_warn=True, file=str(file))

    assert file.read_text().startswith("openapi: 3.1")


def test_every_address_of_the_api_is_described():
    served = {re.sub(r"<\w+:(\w+)>", r"{\1}", route) for route in routes(get_resolver().url_patterns)}

    assert set(openapi.description()["paths"]) == served - {"/api/schema", "/api/docs"}


def routes(patterns, before="/"):
    """The routes of the API, and the probes beside it."""
    for each in patterns:
        route = before + str(each.pattern)
        if hasattr(each, "url_patterns"):
            yield from routes(each.url_patterns, route) if route == "/api/v1/" else []
        elif route.startswith("/api/") or route in {"/healthz", "/readyz"}:
            yield route


def test_schema_is_served_as_yaml_and_as_json():
    as_yaml = Client().get("/api/schema")
    as_json = Client().get("/api/schema", headers={"Accept": "application/json"})

    assert as_yaml.content.startswith(b"openapi: 3.1")
    assert as_json.json() == openapi.made()


@pytest.mark.parametrize(
    "accept", ["application/vnd.oai.openapi", "application/vnd.oai.openapi+json", "application/json"]
)
def test_schema_is_made_once_whatever_is_asked_along(monkeypatch, accept):
    """It takes half a second, and anybody may ask for it."""
    headers = {"Accept": accept}
    first = Client().get("/api/schema", headers=headers)
    monkeypatch.setattr(SchemaGenerator, "get_schema", None)

    again = Client().get("/api/schema?lang=de&version=7", headers={**headers, "Accept-Language": "de"})

    assert again.content == first.content
    assert again["Content-Type"].startswith(accept)
    assert (again["Cache-Control"], again["Vary"]) == ("public, max-age=3600", "Accept")


def test_try_out_page_asks_no_other_host():
    page = Client().get("/api/docs").content.decode() + Client().get("/api/docs?script=").content.decode()

    assert re.findall(r"(?:https?:)?//[\w.-]+\.\w+", page) == []
    assert "swagger-ui-bundle.js" in page
    assert '"validatorUrl": null' in page


def test_names_are_unique_and_everything_named_exists():
    assert len(set(NAMES)) == len(NAMES)
    assert {tag for each in OPERATIONS for tag in each["tags"]} == {tag["name"] for tag in TAGS}
    used = {scheme for each in OPERATIONS for alternative in each["security"] for scheme in alternative}
    assert used == set(SECURITY_SCHEMES)


@pytest.mark.parametrize("operation", OPERATIONS, ids=NAMES)
def test_endpoint_says_what_it_does_and_needs(operation):
    assert operation["summary"]
    assert "**Needs**" in operation["description"]
    assert all(response["description"] for response in operation["responses"].values())


@pytest.mark.parametrize("operation", OPERATIONS, ids=NAMES)
def test_every_error_code_has_an_example_of_its_status(operation):
    for status, response in operation["responses"].items():
        if int(status) >= 400:
            content = response["content"]["application/json"]
            codes = re.findall(r'"enum": \[(.*?)\]|"(AUTH_CODE_INVALID)"', json.dumps(content["schema"]))
            assert set(content["examples"]) >= {
                code.strip('" ') for found in codes for code in found[0].split(",") if code
            }
            for code, example in content["examples"].items():
                assert (example["value"]["error"], STATUS[code]) == (code, int(status))
                openapi.validator_of(json.dumps(content["schema"])).validate(example["value"])


def takes_json(operation):
    return "application/json" in operation.get("requestBody", {}).get("content", {})


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if takes_json(each)], ids=of)
def test_example_requests_keep_the_schema(operation):
    hold_examples(operation["requestBody"]["content"]["application/json"])


def test_only_files_are_sent_as_anything_but_json():
    others = [each["operationId"] for each in OPERATIONS if "requestBody" in each and not takes_json(each)]

    assert others == ["upload_import"]


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if answers_in_json(each)], ids=of)
def test_example_answers_keep_the_schema(operation):
    for content in answers_in_json(operation):
        hold_examples(content)


# --- What tests make of it -------------------------------------------------------------------------------------------


def answer(status, body, **headers):
    return openapi.HttpResponse(
        json.dumps(body), status=status, content_type="application/json", headers={"X-Request-ID": "x", **headers}
    )


ERROR = {"success": False, "error": "NOT_FOUND", "message": "m", "request_id": "x", "details": {}}
UNFORESEEN = {
    "a status that is not described": answer(402, ERROR),
    "a code that is not described": answer(404, {**ERROR, "error": "USER_NOT_FOUND"}),
    "a member too few": answer(404, {"success": False, "error": "NOT_FOUND", "message": "m"}),
    "another shape": answer(200, {"success": True, "data": []}),
    "a header too few": answer(401, {**ERROR, "error": "TOKEN_INVALID"}),
}


@pytest.mark.parametrize("response", UNFORESEEN.values(), ids=UNFORESEEN)
def test_answer_that_is_not_described_fails_the_test_that_gets_it(response):
    with pytest.raises((AssertionError, openapi.jsonschema_rs.ValidationError)):
        openapi.hold(response, method="GET", address="/api/v1/customer/loyalty/points")


def test_answer_that_is_described_does_not():
    openapi.hold(answer(404, ERROR), method="GET", address="/api/v1/customer/loyalty/points")


# --- What it is worth ------------------------------------------------------------------------------------------------

CASES_IN_CI = 2000
CASES_OF_OTHERS, MADE_UP_OF_OTHERS = 3, 200
CALLERS = {
    "a hub": lambda shop, _mine: Api(shop).hub(),  # with every scope
    "an owner": lambda shop, mine: mine.as_customer(staff(shop, role="owner")),
    "a support agent": lambda shop, mine: mine.as_customer(staff(shop, role="support")),
    "a customer with the app": lambda _shop, mine: mine.app(),
    "a guest": lambda shop, _mine: Api(shop),
}
CHECKS = {
    name: {"enabled": enabled}
    for name, enabled in {
        "not_a_server_error": True,
        "status_code_conformance": True,
        "content_type_conformance": True,
        "response_schema_conformance": True,
        "response_headers_conformance": True,
        "negative_data_rejection": True,
        "unsupported_method": True,
        # These take a refusal that the schema cannot tell of for a fault: a code that nobody made, a used-up key.
        "positive_data_acceptance": False,
        "missing_required_header": False,
        "ignored_auth": False,
        "use_after_free": False,
        "ensure_resource_availability": False,
    }.items()
}


@pytest.fixture
def shop(transactional_db, settings):
    """A brand with everything that good requests name; its limits are out of the way."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, "1000000/second")
    # No worker runs beside: what is asked waits until the end, however long a busy machine takes.
    settings.READY_EVENT_AGE_SECONDS = settings.READY_JOB_WAIT_SECONDS = 86_400
    brand = factories.brand()
    factories.level(brand)
    campaign = factories.campaign(brand)
    factories.milestone(campaign, 2)
    wallets.apple(brand)
    wallets.google(brand)
    for kind in ("order-complete", "log-user-profile-update", "log-user-login"):
        factories.earning_rule(brand, kind)
    return brand


def known_values(shop, customer, scan_id):
    """What made-up requests hold now and then, so that some are about something: by parameter."""
    codes = [code.code for code in factories.batch(shop, quantity=40).codes.all()]
    shared = factories.code(shop, scan_limit=None, campaign=shop.campaigns.get())
    factories.points(customer, shop, 1000)
    waiting = factories.milestone(shop.campaigns.get(), 5, auto_claim=False)
    RewardClaim.objects.create(milestone=waiting, user=customer)
    given = [factories.redemption(customer, factories.reward(shop)).code for _ in range(20)]
    taken = factories.redemption(customer, factories.reward(shop))
    # Of these, requests may change and block what they like: nothing else is asked about them.
    member, spare = factories.customer(shop), factories.batch(shop, quantity=3)
    factories.points(member, shop, 1000)
    rewards = [factories.reward(shop, cost=1) for _ in range(10)]
    permission = image_address(shared).partition("permission=")[2]
    return {
        "body.user_id": [customer.pk],
        "body.brand_id": [shop.pk],
        "body.detail.arguments.user_id": [customer.pk],
        "body.detail.arguments.brand_id": [shop.pk],
        "body.product.authCode": [shared.code, *codes],
        "body.code": [shared.code, *codes, *given],
        "path.auth_code": [shared.code, *codes],
        "path.code": [shared.code],
        "query.permission": [permission],
        "path.batch_id": [shared.batch_id, spare.pk],
        "body.batch_id": [spare.pk],
        "body.product_id": [spare.product_id],
        "path.product_id": [spare.product_id],
        "path.campaign_id": [waiting.campaign_id],
        "path.user_id": [member.pk],
        "path.level_id": [shop.levels.get().pk],
        "path.rule_id": [EarningRule.objects.filter(brand=shop).earliest("pk").pk],
        "path.kind_id": [factories.event_kind(shop, floor="whole").pk],
        "path.redemption_id": [taken.pk],
        "path.transaction_id": [LoyaltyTransaction.objects.earliest("pk").pk],
        "path.event_number": [factories.handed_in(shop, customer).pk],
        "path.job_id": [Job.objects.create(brand=shop, kind="generate", title="Generate codes").pk],
        "path.scan_id": [scan_id],
        "body.customer_id": [str(customer.pk)],
        "path.reward_id": [reward.pk for reward in rewards],
        "path.milestone_id": [waiting.pk],
        "body.email": [customer.email],
        "body.password": [PASSWORD],
    }


def configuration(headers, values, *, cases, phases):
    return SchemathesisConfig.from_dict(
        {
            "seed": 1,
            "headers": headers,
            "dictionaries": {name.replace(".", "-"): {"values": found} for name, found in values.items()},
            "parameters": {name: {"dictionary": name.replace(".", "-"), "probability": 0.6} for name in values},
            "generation": {
                "max-examples": cases,
                "deterministic": True,
                "no-shrink": True,
                "database": "none",
                "with-security-parameters": False,
            },
            "phases": {name: {"enabled": name in phases} for name in ("examples", "coverage", "fuzzing", "stateful")},
            "checks": CHECKS,
            "continue-on-failure": True,
            "suppress-health-check": ["all"],
        }
    )


class Service:
    """The WSGI application in this process. Schemathesis calls it from threads of its own."""

    def __init__(self):
        self.application = WholeBodies(get_wsgi_application())
        self.connections = {}

    def __call__(self, environ, start_response):
        if id(connection.connection) not in self.connections:
            connection.ensure_connection()
            self.connections[id(connection.connection)] = connection.connection
        return self.application(environ, start_response)

    def close(self):
        for each in self.connections.values():
            each.close()


@pytest.fixture
def service(shop, tmp_path):
    set_hypothesis_home_dir(tmp_path)  # or its caches would stay in the project
    made = Service()
    yield made
    made.close()
    connection.close()  # it may have been one of them


def explore(service, config, *, without=None):
    """Answers by operation and status, and every fault found."""
    schema = schemathesis.openapi.from_dict(openapi.description(), config=config)
    if without:
        schema = schema.exclude(operation_id=without)
    schema.app = service
    answers, faults = defaultdict(Counter), []
    for event in from_schema(schema).execute():
        if isinstance(event, events.NonFatalError | events.FatalError):
            faults.append(repr(getattr(event, "value", None) or event.exception))
        if not isinstance(event, events.ScenarioFinished):
            continue
        sent = event.recorder.interactions
        answers[event.recorder.label].update(each.response.status_code for each in sent.values() if each.response)
        for case, checks in event.recorder.checks.items():
            faults += [told(check, sent[case]) for check in checks if check.failure_info]
    return answers, faults


def told(check, interaction):
    request, response = interaction.request, interaction.response
    asked = f"{request.method} {request.uri} {request.body!r:.500}"
    got = f"{response.status_code} {response.content!r:.500}" if response else "no answer"
    return f"{check.name}: {check.failure_info.failure}\n  {asked}\n  {got}"


@pytest.mark.slow
def test_2000_made_up_requests_are_answered_as_described(service, shop):
    customer = factories.customer(shop, password=PASSWORD)
    caller = Api(shop).as_customer(customer).hub()
    scan_id = caller.verify(factories.code(shop)).json()["scan_id"]
    config = configuration(
        dict(caller.headers),
        known_values(shop, customer, scan_id),
        cases=60,
        phases={"examples", "coverage", "fuzzing"},
    )

    answers, faults = explore(service, config, without="erase_me")  # nobody would be left to ask the rest

    assert not faults, "\n".join(faults)
    assert sum(sum(statuses.values()) for statuses in answers.values()) >= CASES_IN_CI
    assert len(answers) == len(OPERATIONS) - 1
    succeeded = {label for label, statuses in answers.items() if any(200 <= status < 300 for status in statuses)}
    assert succeeded == set(answers)


@pytest.mark.slow
@pytest.mark.parametrize("who", CALLERS)
def test_made_up_requests_of_others_are_too(service, shop, who):
    """Fewer: what bad input is answered with does not depend on who asks, only on what may be asked."""
    customer = factories.customer(shop, password=PASSWORD)
    mine = Api(shop).as_customer(customer)
    scan_id = mine.verify(factories.code(shop)).json()["scan_id"]
    headers = dict(CALLERS[who](shop, mine).headers)
    config = configuration(headers, known_values(shop, customer, scan_id), cases=CASES_OF_OTHERS, phases={"fuzzing"})

    answers, faults = explore(service, config)

    assert faults == []
    assert len(answers) == len(OPERATIONS)
    assert sum(sum(statuses.values()) for statuses in answers.values()) >= MADE_UP_OF_OTHERS
    read = [label for label, statuses in answers.items() if re.match("GET .*/brand/", label) and statuses[200]]
    assert bool(read) == (who in {"a hub", "an owner", "a support agent"})
