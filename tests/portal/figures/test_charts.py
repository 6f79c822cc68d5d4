"""Number formats of the charts that a JavaScript library draws."""

import pytest
from django.utils import translation

from portal.figures.charts import chart_options


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_chart_locale_is_the_page_language_with_western_digits(language):
    with translation.override(language):
        assert chart_options()["locale"] == f"{language}-u-nu-latn"
