"""A file is offered in one way, whatever it holds."""

import pytest
from django.http import HttpResponse

from portal.import_export.downloads import as_attachment


@pytest.mark.parametrize(
    ("name", "disposition"),
    [
        ("codes.csv", 'attachment; filename="codes.csv"'),
        ('a "b".csv', 'attachment; filename="a \\"b\\".csv"'),
        ("Käse.csv", "attachment; filename*=utf-8''K%C3%A4se.csv"),
    ],
)
def test_a_file_is_saved_by_its_name_and_neither_guessed_at_nor_kept(name: str, disposition: str) -> None:
    answer = as_attachment(HttpResponse(b"a", content_type="text/csv"), name)

    assert answer["Content-Disposition"] == disposition
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Cache-Control"] == "private, no-store"
    assert answer["Content-Type"] == "text/csv"
