"""Table rows that render their own HTML escape every text."""

import pytest
from django.template import Context, Template

from authcodes.admin.home.sections import CohortCell, CohortRow
from authcodes.admin.scan_map import Row as Place
from portal.figures.tables import TableRow

EVIL = '<script>"&'
ESCAPED = "&lt;script&gt;&quot;&amp;"
LINKED_COUNT = f'<td><a href="{ESCAPED}" aria-label="3 scans in {ESCAPED}">3</a></td>'


@pytest.mark.parametrize(
    ("row", "html"),
    [
        (TableRow(EVIL, (EVIL,)), f'<tr><th scope="row">{ESCAPED}</th><td>{ESCAPED}</td></tr>'),
        (
            CohortRow(EVIL, EVIL, (CohortCell(EVIL, 3),)),
            f'<tr><th>{ESCAPED}</th><td>{ESCAPED}</td><td class="heat-3">{ESCAPED}</td></tr>',
        ),
        (
            Place(EVIL, 3, EVIL, None, is_on_map=True),
            f'<tr><th scope="row"><a href="{ESCAPED}">{ESCAPED}</a></th><td>3</td></tr>',
        ),
        (
            Place(EVIL, 3, "?a", EVIL, is_on_map=True),
            f'<tr><th scope="row"><a href="?a">{ESCAPED}</a></th>{LINKED_COUNT}</tr>',
        ),
    ],
)
def test_row_escapes_its_texts(row: TableRow | CohortRow | Place, html: str) -> None:
    template = Template("{% load portal_figures %}{% rows_as_html rows %}")

    assert template.render(Context({"rows": [row]})) == html
