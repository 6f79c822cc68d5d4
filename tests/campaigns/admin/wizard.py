"""Form data of the campaign wizard."""

from tests.support.portal import address

LABEL = "campaigns.campaign"
NEW_URL = address(LABEL, "new")
MINIMAL_DATA = {
    "audience": "all",
    "type": "authenticator_scan",
    "step_by": "count",
    "target_value": "10",
    "name": "Collect 10",
    "at_1": "10",
    "gives_1": "points",
    "points_1": "50",
    "auto_1": "auto",
}


def values_of(page):
    """The data that a browser would submit unchanged."""
    bound = page.context["form"]
    values = {each.html_name: each.value() for each in bound}
    return {name: value for name, value in values.items() if value not in (None, False, "")} | {
        "opened": page.context["opened"],
        "brand": page.context["brand"].pk,
    }


def errors(answer):
    return {name: " ".join(texts) for name, texts in answer.context["form"].errors.items()}
