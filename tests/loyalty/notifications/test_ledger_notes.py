"""System notes of the ledger are stored in English and translated for the customer; notes of staff are not."""

import ast
from pathlib import Path

import pytest

from loyalty.models.ledger import LoyaltyTransaction
from loyalty.notifications import ledger_notes
from tests.support import factories

ROOT = Path(__file__).parents[3]
WRITERS = [
    "authcodes/scanning/scan_points.py",
    "campaigns/accrual/handlers.py",
    "campaigns/accrual/own_kinds.py",
    "loyalty/members/moving_in/opening_balances.py",
    "loyalty/merges/totals.py",
    "loyalty/merges/undo.py",
    "loyalty/orders/releases.py",
    "loyalty/orders/returns.py",
    "loyalty/points/expiry.py",
    "loyalty/points/ledger.py",
    "loyalty/points/transfers.py",
    "loyalty/referrals/reversals.py",
    "loyalty/referrals/rewards.py",
    "loyalty/rewards/redeem.py",
    "loyalty/rewards/returns.py",
]
TRANSLATION_FUNCTIONS = {"_", "gettext_noop"}


def texts_of(path):
    """The texts that a module marks for translation."""
    calls = [node for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.Call)]
    marked = [call.args[0] for call in calls if getattr(call.func, "id", "") in TRANSLATION_FUNCTIONS and call.args]
    return {each.value for each in marked if isinstance(each, ast.Constant)}


def test_every_system_note_is_a_marked_text_of_the_code():
    marked_texts = set().union(*map(texts_of, WRITERS))

    assert set(ledger_notes.SYSTEM_NOTES) - marked_texts == set()


@pytest.mark.parametrize("language", ["de", "ar"])
@pytest.mark.parametrize("text", ledger_notes.SYSTEM_NOTES)
def test_every_system_note_is_translated(text, language):
    values = dict.fromkeys(("product", "order", "field", "name", "reward", "event"), "Ärmel %s (x)") | {
        "day": "2026-03-01"
    }
    note = text % values

    translated = ledger_notes.text_in(note, language)

    assert translated != note
    assert ("Ärmel %s (x)" in translated) == ("Ärmel %s (x)" in note)


def test_names_of_profile_fields_are_translated():
    note = "Points for completing your profile: phone"

    assert ledger_notes.text_in(note, "de") == "Punkte für die Ergänzung Ihres Profils: Telefonnummer"


@pytest.mark.parametrize(
    "note", ["", "Sorry for the wait", "points for scanning a mug", "Points for logging in, twice"]
)
def test_notes_of_staff_are_not_translated(note):
    assert ledger_notes.text_in(note, "de") == note


def test_notes_are_stored_in_english_and_returned_in_the_requested_language(api, brand, customer):
    factories.points(customer, brand, 100)
    reward = factories.reward(brand, name="A mug", cost=10)
    customer_api = api.as_customer(customer).with_headers(accept_language="de")
    customer_api.with_headers(idempotency_key="k").post(f"customer/loyalty/rewards/{reward.pk}/redeem")

    answer = customer_api.get("customer/loyalty/transactions")

    assert answer.json()["data"][0]["note"] == "Eingelöst: A mug"
    assert answer.headers["Content-Language"] == "de"
    assert LoyaltyTransaction.objects.latest("pk").note == "Redeemed: A mug"
