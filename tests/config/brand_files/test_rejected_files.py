"""Brand files with a problem are rejected as a whole, with the position of each problem."""

from datetime import UTC, datetime

import pytest

from campaigns.models.campaigns import Campaign
from config.brand_files import reading
from config.brand_files.reading import BrandFileError
from loyalty.models.levels import BrandLevel
from tests.config.brand_files.conftest import SMALL, apply, rows
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(db):
    return factories.brand()


def problems_of(brand, content, **options):
    with pytest.raises(BrandFileError) as error:
        apply(brand, content, **options)
    return error.value.problems


CAMPAIGN = "format: 1\ncampaigns:\n- campaign_name: A\n  target_value: 5\n  milestones:\n"
PROBLEM_BY_CONTENT = {
    "levels: []": "format: must be 1",
    "format: 2": "format (line 1): must be 1",
    "- format": "The file must be a mapping",
    "": "The file must be a mapping",
    "format: 1\nformat: 1": "line 2: The key 'format' is there twice",
    "format: 1\na: &x 1\nb: *x": "line 2: aliases and anchors are not allowed",
    "format: 1\nb: *x": "line 2: aliases and anchors are not allowed",
    "format: 1\nb: !!python/object:os.system x": "line 2: tags are not allowed",
    "format: 1\n? [a]\n: b": "line 2: A key must be a name",
    "format: 1\nb: [": "line",
    "format: 1\nb: " + "[" * 50 + "]" * 50: "nested deeper",
    "format: 1\nb: " + "[" * 20_000: "nested deeper",
    "format: 1\nb: \x07": "not valid YAML",
    "format: 1\nlevel: []": "level (line 2): is not known; known are brand, campaigns,",
    "format: 1\nlevels: {}": "levels (line 2): must be a list",
    'format: 1\nlevels: [{name: "A\\0"}]': "levels[0].name (line 2): The text has a character that cannot be stored.",
    'format: 1\nlevels: [{name: "A\\ud800"}]': "levels[0].name (line 2): The text has a character that cannot",
    "format: 1\nbrand: []": "brand (line 2): must be a mapping",
    "format: 1\nlevels: [Gold]": "levels[0] (line 2): must be a mapping",
    "format: 1\nlevels: [{threshold: 5}]": "levels[0].name (line 2): is required",
    "format: 1\nlevels: [{name: [Gold], threshold: 5}]": "levels[0].name (line 2): must be one value",
    "format: 1\nwebhooks: [{url: {a: b}}]": "webhooks[0].url (line 2): must be one value",
    "format: 1\nlevels: [{name: A, is_best: 5}]": "levels[0].is_best (line 2): is not known",
    "format: 1\nlevels: [{name: A, threshold: 5}, {name: A, threshold: 6}]": "levels[1] (line 2): “A” is there twice",
    "format: 1\nlevels: [{name: A, threshold: -5}]": "levels[0].threshold (line 2): Ensure this value is greater than",
    "format: 1\nlevels: [{name: A, threshold: [5]}]": "levels[0].threshold (line 2): must be one value",
    "format: 1\nlevels: [{name: A, threshold: null}]": "levels[0].threshold (line 2): must not be null",
    "format: 1\nlevels: [{name: A, threshold: ٥}]": "levels[0].threshold (line 2): Use the digits 0 to 9.",
    "format: 1\nlevels: [{name: A, scan_reward_value: 1001}]": "levels[0].scan_reward_value (line 2): At most 1,000",
    "format: 1\nearning_rules: [{kind: x, reward_value: 1}]": "earning_rules[0].kind (line 2): Select a valid choice",
    "format: 1\nevent_kinds: [{name: scan-auth, title: A}]": "event_kinds[0].name (line 2): The service has a kind",
    "format: 1\nevent_kinds: [{name: a, title: A, fields: [{name: b, label: B, type: x}]}]": "type (line 2): Select",
    "format: 1\nevent_kinds: [{name: a, title: A, fields: [{name: b, label: B, options: c}]}]": "must be a list of",
    "format: 1\nearning_rules: [{kind: log-user-login, reward_value: 1, is_active: 'no'}]": "(line 2): is not known",
    "format: 1\ncampaigns: [{campaign_name: A}]": "campaigns[0].target_value (line 2): This field is required.",
    f"{CAMPAIGN}  - threshold: 6\n    reward_name: B": "milestones[0].threshold (line 6): Progress stops at the goal",
    f"{CAMPAIGN}  - {{threshold: 5, reward_name: B, reward_points: -1}}": "milestones[0].reward_points (line 6): ",
    f"{CAMPAIGN}  - {{threshold: x}}": "campaigns[0].milestones[0].threshold (line 6): “x” value must be an integer.",
    "format: 1\ncampaigns: [{campaign_name: A, target_value: 5, starts_at: 2030-01-01, ends_at: 2029-01-01}]": (
        "campaigns[0] (line 2): The campaign must end after it starts."
    ),
    "format: 1\nrewards: [{name: A, cost: 0}]": "rewards[0].cost (line 2): Ensure this value is greater than",
    "format: 1\nrewards: [{name: A, cost: 1, minimum_level: Top}]": "There is no level “Top”.",
    "format: 1\nbrand: {slug: other}": "brand.slug (line 2): is not known",
    "format: 1\nbrand: {is_sandbox: true}": "brand.is_sandbox (line 2): is not known",
    "format: 1\nbrand: {time_zone: Nowhere}": "brand.time_zone (line 2): Nowhere is not a valid time zone.",
    "format: 1\nbrand: {colour_text: '#ffffff'}": "brand.colour_text (line 2): Not enough contrast",
    "format: 1\nnotifications: []": "notifications (line 2): must be a mapping",
    "format: 1\nnotifications: {settings: {twilio_auth_token: x}}": "is not known",
    "format: 1\nnotifications: {templates: [{template: NOTIFY_CAMPAIGN_SUCCESS, channel: sms, language: en,"
    " body: '{nobody}'}]}": "notifications.templates[0].body",
    "format: 1\nwebhooks: [{url: 'http://10.0.0.1/', types: [points.earned]}]": "webhooks[0].url (line 2): ",
    "format: 1\nwebhooks: [{url: 'https://a.example.com/', types: [other]}]": "webhooks[0].types (line 2): ",
    "format: 1\nwebhooks: [{url: 'https://a.example.com/', types: points.earned}]": "must be a list of names",
    "format: 1\nwebhooks: [{url: 'https://a.example.com/', secret: x}]": "webhooks[0].secret (line 2): is not known",
}


@pytest.mark.parametrize("content", PROBLEM_BY_CONTENT)
def test_invalid_file_is_rejected_with_the_position_of_the_problem(brand, content):
    before = rows(brand)

    assert PROBLEM_BY_CONTENT[content] in "\n".join(problems_of(brand, content))

    assert rows(brand) == before


def test_too_large_file_is_rejected():
    with pytest.raises(BrandFileError, match="larger than 1,000,000 bytes"):
        reading.read(b"format: 1\n" + b"#" * reading.MAX_BYTES)


def test_file_that_is_not_utf_8_is_rejected():
    with pytest.raises(BrandFileError, match="not UTF-8"):
        reading.read(b"format: 1 \xff")


def test_all_problems_are_listed_and_nothing_is_changed(brand):
    levels = "levels:\n  - {name: Good, threshold: 1}\n  - {name: Bad, threshold: x}\n"
    content = f"format: 1\n{levels}rewards: [{{name: A, cost: 0}}]\n"

    assert problems_of(brand, content) == [
        "levels[1].threshold (line 4): Enter a number.",
        "rewards[0].cost (line 5): Ensure this value is greater than or equal to 0.01.",
    ]
    assert not BrandLevel.objects.filter(brand=brand).exists()


def test_level_of_another_brand_is_not_a_valid_choice(brand):
    factories.level(factories.brand(), "Gold")

    problems = problems_of(brand, "format: 1\nrewards: [{name: A, cost: 1, minimum_level: Gold}]")

    assert problems == ["rewards[0].minimum_level (line 2): There is no level “Gold”."]


def test_moments_without_a_zone_are_in_the_brands_time_zone(db):
    brand = factories.brand(time_zone="Asia/Tokyo")

    apply(brand, SMALL + b"    starts_at: 2030-01-01 09:00\n")

    assert Campaign.objects.get().starts_at == datetime(2030, 1, 1, tzinfo=UTC)
