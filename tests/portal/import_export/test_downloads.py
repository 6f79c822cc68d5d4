"""The response headers of a download."""

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
def test_download_has_its_file_name_and_is_neither_sniffed_nor_cached(name: str, disposition: str) -> None:
    response = as_attachment(HttpResponse(b"a", content_type="text/csv"), name)

    assert response["Content-Disposition"] == disposition
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Cache-Control"] == "private, no-store"
    assert response["Content-Type"] == "text/csv"
