"""Every page of the portal opens, or says what is missing, before the installation has its first brand."""

from collections.abc import Iterator
from typing import Any

import pytest

from brands.models.tenants import Brand
from tests.portal.test_reading_changes_nothing import EXCLUDED_PATHS, PATHS_WITHOUT_QUERY, QUERY, portal_paths
from tests.support import factories
from tests.support.portal import browser

pytestmark = pytest.mark.django_db
ANSWERS = {200, 302, 400, 403, 404, 405}  # 400: a list without this filter; 405: a page only for POST


def requests() -> Iterator[tuple[str, dict[str, str]]]:
    for path in sorted({*portal_paths({})} - EXCLUDED_PATHS):
        for query in ({},) if path.endswith(PATHS_WITHOUT_QUERY) else ({}, QUERY):
            yield path, query


def test_superuser_opens_every_page_in_an_installation_without_a_brand() -> None:
    assert not Brand.objects.exists()
    client = browser(factories.user(is_staff=True, is_superuser=True))
    client.raise_request_exception = False

    answers: dict[Any, int] = {(path, bool(query)): client.get(path, query).status_code for path, query in requests()}

    assert len(answers) > 200
    assert {request: status for request, status in answers.items() if status not in ANSWERS} == {}
