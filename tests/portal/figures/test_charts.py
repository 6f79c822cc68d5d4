"""How charts that a library draws write their numbers."""

import pytest
from django.utils import translation

from portal.figures.charts import chart_options


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_a_chart_writes_numbers_in_the_page_s_language_and_the_portal_s_digits(language):
    with translation.override(language):
        assert chart_options()["locale"] == f"{language}-u-nu-latn"
