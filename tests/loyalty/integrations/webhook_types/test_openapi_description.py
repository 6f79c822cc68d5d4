"""Each webhook type is in the API's description, and a test of this folder sends it to a real receiver."""

import json
import re
from pathlib import Path

import pytest
from django.conf import settings

from loyalty.integrations import webhook_events
from loyalty.models.webhooks import WebhookType
from tests.support import openapi


def test_every_webhook_type_is_in_the_description_and_has_a_test():
    types = {*WebhookType.values, webhook_events.PING}
    tests = {
        name.replace("_", ".")
        for file in Path(__file__).parent.glob("test_*.py")
        for name in re.findall(r"def test_(\w+)", file.read_text())
    }

    assert set(openapi.description()["webhooks"]) == types
    assert types - tests == set()


def test_validator_rejects_a_body_that_is_not_described():
    body = {"type": "member.blocked", "timestamp": "2026-03-14T09:26:53.589Z", "data": {}}

    with pytest.raises(openapi.jsonschema_rs.ValidationError):
        openapi.webhook_validator("member.blocked").validate(body)
    with pytest.raises(openapi.jsonschema_rs.ValidationError):
        openapi.webhook_validator("member.unblocked").validate({**body, "data": {"user_id": 42}})


def test_bodies_in_the_webhook_documentation_match_the_description():
    page = (Path(settings.BASE_DIR) / "docs/webhooks.md").read_text()
    bodies = [json.loads(line) for line in page.splitlines() if re.match(r'\{"type": "[a-z.]+", "timestamp"', line)]

    for body in bodies:
        openapi.webhook_validator(body["type"]).validate(body)
    assert {body["type"] for body in bodies} == set(openapi.description()["webhooks"])


@pytest.mark.parametrize("kind", sorted(openapi.description()["webhooks"]))
def test_example_body_matches_its_schema(kind):
    content = openapi.description()["webhooks"][kind]["post"]["requestBody"]["content"]["application/json"]
    [example] = content["examples"].values()

    openapi.webhook_validator(kind).validate(example["value"])
