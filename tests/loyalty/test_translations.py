"""Translations of a brand's texts: validated, returned to customers, and edited in the portal."""

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from authcodes.recalls import recalls, scopes
from authcodes.recalls.notifications import notification_of
from brands.models.audit import AuditLogEntry
from campaigns.models.campaigns import Campaign, Milestone
from loyalty.models.accounts import UserPoints
from loyalty.models.levels import BrandLevel
from loyalty.models.notifications import Channel, Template
from loyalty.models.rewards import Reward
from loyalty.notifications import preferences, rendering
from loyalty.notifications.rendering import MessageRequest
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text

MUG = {"de": {"name": "Becher", "description": "Emaille"}, "ar": {"name": "كوب"}}


@pytest.fixture
def api_in_language(api, brand, customer):
    """Creates an API client of the customer for a language."""

    def create(language):
        return api.as_customer(customer).with_headers(accept_language=language)

    return create


@pytest.mark.parametrize(
    "translations",
    [
        ["de"],
        {"fr": {"name": "Tasse"}},
        {"en": {"name": "Cup"}},
        {"de": "Becher"},
        {"de": {"cost": "1"}},
        {"de": {"name": 7}},
        {"de": {"name": ""}},
        {"de": {"name": "x" * 121}},
    ],
)
def test_invalid_translations_are_rejected(brand, translations):
    reward = factories.reward(brand)
    reward.translations = translations

    with pytest.raises(ValidationError) as error:
        reward.full_clean()

    assert set(error.value.message_dict) == {"translations"}


def test_longest_text_of_each_field_is_accepted(brand):
    reward = factories.reward(brand)
    reward.translations = {"de": {"name": "x" * 120, "description": "x" * 2000}}

    reward.full_clean()


def test_rewards_are_in_the_language_of_the_request(api_in_language, brand):
    gold = factories.level(brand, "Gold", 500)
    BrandLevel.objects.filter(pk=gold.pk).update(translations={"ar": {"name": "ذهبي"}})
    factories.reward(brand, name="A mug", description="Enamel", translations=MUG, minimum_level=gold)

    def listed(language):
        [row] = api_in_language(language).get("customer/loyalty/rewards").json()["data"]
        return row["name"], row["description"], row["level"]

    assert listed("en") == ("A mug", "Enamel", "Gold")
    assert listed("de") == ("Becher", "Emaille", "Gold")
    assert listed("ar") == ("كوب", "Enamel", "ذهبي")


def test_language_of_the_profile_is_used_if_the_request_has_none(api, brand, customer):
    factories.reward(brand, name="A mug", translations=MUG)
    preferences.change(customer.pk, brand.pk, language="de", at=timezone.now())

    answer = api.as_customer(customer).get("customer/loyalty/rewards")

    assert answer.json()["data"][0]["name"] == "Becher"
    assert (answer.headers["Content-Language"], answer.headers["Vary"]) == ("de", "Origin, Accept-Language")


def test_redemption_has_the_translated_name_until_the_reward_is_renamed(api_in_language, brand, customer):
    factories.points(customer, brand, 100)
    reward = factories.reward(brand, name="A mug", cost=10, translations=MUG)
    customer_api = api_in_language("de")
    customer_api.with_headers(idempotency_key="k").post(f"customer/loyalty/rewards/{reward.pk}/redeem")

    def names():
        return [row["name"] for row in customer_api.get("customer/loyalty/redemptions").json()["data"]]

    before = names()
    Reward.objects.filter(pk=reward.pk).update(name="A cup")

    assert (before, names()) == (["Becher"], ["A mug"])


def test_levels_are_in_the_language_of_the_request(api_in_language, brand, customer):
    for name, threshold, german in (("Silver", 50, "Silber"), ("Gold", 500, "Gold-Stufe")):
        level = factories.level(brand, name, threshold)
        BrandLevel.objects.filter(pk=level.pk).update(translations={"de": {"name": german}})
    factories.points(customer, brand, 100)
    UserPoints.objects.filter(user=customer).update(current_level="Silver")

    def read(language):
        data = api_in_language(language).get("customer/loyalty/points").json()["data"]
        return data["level"], data["next_level"]["name"]

    assert (read("en"), read("de")) == (("Silver", "Gold"), ("Silber", "Gold-Stufe"))


def test_campaigns_are_in_the_language_of_the_request(api_in_language, brand):
    campaign = factories.campaign(brand)
    Campaign.objects.filter(pk=campaign.pk).update(translations={"de": {"campaign_name": "Sammeln"}})
    Milestone.objects.filter(campaign=campaign).delete()
    milestone = Milestone.objects.create(
        campaign=campaign, threshold=1, reward_name="A mug", translations={"de": {"reward_name": "Becher"}}
    )

    [row] = api_in_language("de").get("customer/loyalty/campaigns").json()["data"]

    assert (row["campaign_name"], row["next_reward"]) == ("Sammeln", "Becher")
    assert [(each["milestone_id"], each["reward_name"]) for each in row["milestones"]] == [(milestone.pk, "Becher")]


def test_scanned_product_is_named_in_the_language_of_the_request(api_in_language, brand):
    product = factories.product(brand)
    type(product).objects.filter(pk=product.pk).update(translations={"de": {"title": "Jacke"}})
    batch = factories.batch(brand)
    code = batch.codes.get()
    batch.codes.update(product=product)

    looked_up = api_in_language("de").post("auth-codes/validate", {"code": code.code}).json()["product"]["name"]
    scanned = api_in_language("de").post("auth-codes/scan", {"code": code.code}).json()["product"]["name"]

    assert (looked_up, scanned) == ("Jacke", "Jacke")


def test_hub_gets_the_base_texts(api, brand):
    product = factories.product(brand)
    type(product).objects.filter(pk=product.pk).update(translations={"de": {"title": "Jacke"}})
    batch = factories.batch(brand)
    batch.codes.update(product=product)
    code = batch.codes.get()

    answer = api.hub().with_headers(accept_language="de").post("auth-codes/validate", {"code": code.code})

    assert answer.json()["product"]["name"] == product.title


@pytest.fixture
def open_form(brand):
    """Opens the page of a row as staff; returns the page, its form data and a function that submits it."""

    def open_page(row, label, role="owner"):
        client, url = browser(staff(brand, role=role)), address(label, "change", row.pk)
        page = client.get(url)
        return page, form_of(page), lambda form_data: client.post(url, form_data, follow=True)

    return open_page


def test_staff_write_translations_and_the_audit_log_records_them(brand, open_form):
    reward = factories.reward(brand, name="Mug", description="Enamel")
    page, form, send = open_form(reward, "loyalty.reward")

    send({**form, "name_de": "Becher", "description_ar": "مطلي بالمينا"})

    reward.refresh_from_db()
    assert 'lang="ar" dir="rtl"' in page.content.decode()
    assert reward.translations == {"de": {"name": "Becher"}, "ar": {"description": "مطلي بالمينا"}}
    assert AuditLogEntry.objects.get(kind="loyalty.reward").changes == {
        "translations": [None, "description (ar): مطلي بالمينا; name (de): Becher"]
    }


def test_emptied_translation_is_removed(brand, open_form):
    reward = factories.reward(brand, translations=MUG)
    _page, form, send = open_form(reward, "loyalty.reward")
    assert (form["name_de"], form["name_ar"]) == ("Becher", "كوب")

    send({**form, "name_de": " "})

    reward.refresh_from_db()
    assert reward.translations == {"de": {"description": "Emaille"}, "ar": {"name": "كوب"}}


def test_too_long_translation_is_rejected(brand, open_form):
    reward = factories.reward(brand)
    _page, form, send = open_form(reward, "loyalty.reward")

    answer = send({**form, "name_de": "x" * 121})

    assert "at most 120 characters" in text(answer)
    reward.refresh_from_db()
    assert reward.translations == {}


def test_translations_changed_since_opening_are_not_overwritten(brand, open_form):
    reward = factories.reward(brand, name="Mug")
    page, form, send = open_form(reward, "loyalty.reward")
    version = page.context["adminform"].form.row_version
    Reward.objects.filter(pk=reward.pk).update(translations=MUG)

    answer = send({**form, "name_de": "Tasse", "row_version": version})

    assert "Someone else changed this after you opened it" in text(answer)
    reward.refresh_from_db()
    assert reward.translations == MUG


def test_staff_without_change_permission_see_translations(brand, open_form):
    reward = factories.reward(brand, translations=MUG)

    page, _form, _send = open_form(reward, "loyalty.reward", role="support")

    assert 'name="name_de"' not in page.content.decode()
    assert "name (de): Becher" in text(page)


def test_translations_of_milestones_are_edited_in_their_table(brand, open_form):
    campaign = factories.campaign(brand)
    milestone = factories.milestone(campaign, 1, reward_name="A mug")
    _page, form, send = open_form(campaign, "campaigns.campaign")

    send({**form, "campaign_name_de": "Sammeln", "milestones-0-reward_name_ar": "كوب"})

    campaign.refresh_from_db()
    milestone.refresh_from_db()
    assert (campaign.translations, milestone.translations) == (
        {"de": {"campaign_name": "Sammeln"}},
        {"ar": {"reward_name": "كوب"}},
    )
    changes = AuditLogEntry.objects.get(kind="campaigns.campaign").changes
    assert changes["translations"] == [None, "campaign_name (de): Sammeln"]
    assert [name for name in changes if name.endswith(": translations")]


@pytest.mark.parametrize("label", ["loyalty.brandlevel", "authcodes.product"])
def test_levels_and_products_can_be_translated(brand, open_form, label):
    row = factories.level(brand, "Tin", 9) if label == "loyalty.brandlevel" else factories.product(brand)
    field = "name_de" if label == "loyalty.brandlevel" else "title_de"
    _page, form, send = open_form(row, label)

    send({**form, field: "Anders"})

    row.refresh_from_db()
    assert row.translations == {"de": {field.removesuffix("_de"): "Anders"}}


def compose(brand, template, values, language="de"):
    return rendering.compose(MessageRequest(brand, template, Channel.EMAIL.value, language, values)).text


def test_messages_contain_translated_levels_campaigns_and_rewards(brand):
    level = factories.level(brand, "Gold", 500)
    BrandLevel.objects.filter(pk=level.pk).update(translations={"de": {"name": "Goldstufe"}})
    campaign = factories.campaign(brand, campaign_name="Ten", translations={"de": {"campaign_name": "Zehn"}})
    milestone = factories.milestone(campaign, 1, reward_name="A mug", translations={"de": {"reward_name": "Becher"}})
    level_values = {"level_name": "Gold", "new_balance": 5}
    reward_values = {"milestone_id": milestone.pk, "reward_name": "A mug", "campaign_name": "Ten"}

    assert "Goldstufe" in compose(brand, Template.LEVEL_REACHED, level_values)
    assert "Goldstufe" not in compose(brand, Template.LEVEL_REACHED, level_values, "ar")
    assert "Becher" in compose(brand, Template.REWARD_AVAILABLE, reward_values)
    assert "A mug" in compose(brand, Template.REWARD_AVAILABLE, reward_values, "en")


def test_message_contains_no_translations_of_another_brand(brand):
    other_campaign = factories.campaign(factories.brand(), campaign_name="Ten")
    milestone = factories.milestone(
        other_campaign, 1, reward_name="A mug", translations={"de": {"reward_name": "Geheim"}}
    )
    reward_values = {"milestone_id": milestone.pk, "reward_name": "A mug", "campaign_name": "Ten"}

    assert "Geheim" not in compose(brand, Template.REWARD_AVAILABLE, reward_values)


def test_recall_message_contains_the_translated_product(brand):
    batch = factories.batch(brand)
    product = factories.product(brand, title="Jacket", translations={"de": {"title": "Jacke"}})
    batch.product = product
    batch.save()
    recall_fields = {"recall_id": "R-1", "contact": "+41 31 000 00 00", "message": "Stop.", "reason": "Glass"}
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), **recall_fields)

    mail = compose(brand, Template.RECALL, notification_of(recall, scopes.of_recall(recall)).values)

    assert "Jacke" in mail
    assert "Jacket" not in mail
