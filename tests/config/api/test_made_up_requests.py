"""Thousands of generated requests are answered as the API's description states."""

import re
from collections import Counter, defaultdict

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from django.db import connection
from hypothesis.configuration import set_hypothesis_home_dir
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

from authcodes.api.qr_images import image_address
from campaigns.models.campaigns import RewardClaim
from campaigns.models.earning_rules import EarningRule
from core.web.middleware import WholeBodies
from jobs.models import Job
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories, openapi
from tests.support.api import Api
from tests.support.factories import PASSWORD
from tests.support.fakes import wallets
from tests.support.portal import staff

OPERATIONS = [each for item in openapi.description()["paths"].values() for each in item.values()]
MIN_REQUESTS = 2000
CASES_PER_CALLER, MIN_REQUESTS_PER_CALLER = 3, 200
CALLERS = {
    "a hub": lambda shop, _customer_api: Api(shop).hub(),  # with every scope
    "an owner": lambda shop, customer_api: customer_api.as_customer(staff(shop, role="owner")),
    "a support agent": lambda shop, customer_api: customer_api.as_customer(staff(shop, role="support")),
    "a customer with the app": lambda _shop, customer_api: customer_api.app(),
    "a guest": lambda shop, _customer_api: Api(shop),
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
        # These report as a fault what the schema cannot describe: an error for an unknown code, or for a used-up key.
        "positive_data_acceptance": False,
        "missing_required_header": False,
        "ignored_auth": False,
        "use_after_free": False,
        "ensure_resource_availability": False,
    }.items()
}


@pytest.fixture
def shop(transactional_db, settings):
    """A brand with everything that valid requests name, and with rate limits that do not interfere."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, "1000000/second")
    # No worker runs in this test: events and jobs wait until its end, however long a busy machine takes.
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
    """Values by parameter that generated requests use now and then, so that some of them refer to existing rows."""
    codes = [code.code for code in factories.batch(shop, quantity=40).codes.all()]
    shared = factories.code(shop, scan_limit=None, campaign=shop.campaigns.get())
    factories.points(customer, shop, 1000)
    waiting = factories.milestone(shop.campaigns.get(), 5, auto_claim=False)
    RewardClaim.objects.create(milestone=waiting, user=customer)
    redemption_codes = [factories.redemption(customer, factories.reward(shop)).code for _ in range(20)]
    redemption = factories.redemption(customer, factories.reward(shop))
    # Requests may change and block these as they like: no other request depends on them.
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
        "body.code": [shared.code, *codes, *redemption_codes],
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
        "path.redemption_id": [redemption.pk],
        "path.transaction_id": [LoyaltyTransaction.objects.earliest("pk").pk],
        "path.event_number": [factories.hub_event(shop, customer).pk],
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
            "dictionaries": {name.replace(".", "-"): {"values": examples} for name, examples in values.items()},
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
    """The WSGI application in this process. Schemathesis calls it from its own threads."""

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
    set_hypothesis_home_dir(tmp_path)  # otherwise its caches would stay in the project
    instance = Service()
    yield instance
    instance.close()
    connection.close()  # it may have been one of these connections


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
        interactions = event.recorder.interactions
        answers[event.recorder.label].update(
            each.response.status_code for each in interactions.values() if each.response
        )
        for case, checks in event.recorder.checks.items():
            faults += [describe_failure(check, interactions[case]) for check in checks if check.failure_info]
    return answers, faults


def describe_failure(check, interaction):
    request, response = interaction.request, interaction.response
    request_text = f"{request.method} {request.uri} {request.body!r:.500}"
    got = f"{response.status_code} {response.content!r:.500}" if response else "no answer"
    return f"{check.name}: {check.failure_info.failure}\n  {request_text}\n  {got}"


@pytest.mark.slow
def test_2000_generated_requests_are_answered_as_described(service, shop):
    customer = factories.customer(shop, password=PASSWORD)
    caller = Api(shop).as_customer(customer).hub()
    scan_id = caller.verify(factories.code(shop)).json()["scan_id"]
    config = configuration(
        dict(caller.headers),
        known_values(shop, customer, scan_id),
        cases=15,
        phases={"examples", "coverage", "fuzzing"},
    )

    answers, faults = explore(service, config, without="erase_me")  # all other requests need the customer

    assert not faults, "\n".join(faults)
    assert sum(sum(statuses.values()) for statuses in answers.values()) >= MIN_REQUESTS
    assert len(answers) == len(OPERATIONS) - 1
    succeeded = {label for label, statuses in answers.items() if any(200 <= status < 300 for status in statuses)}
    assert succeeded == set(answers)


@pytest.mark.slow
@pytest.mark.parametrize("caller_name", CALLERS)
def test_generated_requests_of_each_caller_are_answered_as_described(service, shop, caller_name):
    """Fewer requests: the caller decides what is allowed, but not how invalid input is answered."""
    customer = factories.customer(shop, password=PASSWORD)
    customer_api = Api(shop).as_customer(customer)
    scan_id = customer_api.verify(factories.code(shop)).json()["scan_id"]
    headers = dict(CALLERS[caller_name](shop, customer_api).headers)
    config = configuration(headers, known_values(shop, customer, scan_id), cases=CASES_PER_CALLER, phases={"fuzzing"})

    answers, faults = explore(service, config)

    assert faults == []
    assert len(answers) == len(OPERATIONS)
    assert sum(sum(statuses.values()) for statuses in answers.values()) >= MIN_REQUESTS_PER_CALLER
    read = [label for label, statuses in answers.items() if re.match("GET .*/brand/", label) and statuses[200]]
    assert bool(read) == (caller_name in {"a hub", "an owner", "a support agent"})
