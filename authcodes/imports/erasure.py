"""Erasure of a person from the texts of imports, which undoing an import compares with its codes and writes on them."""

from django.db.models import TextField
from django.db.models.functions import Cast

from authcodes.models.imports import Import, ImportChange, ImportRow
from brands.user_mentions import Mentions, erase_mentions, replace_mentions


def erase_user(*, brand_id: int, mentions: Mentions, pseudonym: str) -> None:
    """Rewrite names of files, and the rows as the notes and locations of codes. Call inside a transaction."""
    uploads = Import.objects.filter(brand_id=brand_id)
    erase_mentions(uploads, ("file_name",), mentions=mentions, pseudonym=pseudonym)
    rows = ImportRow.objects.filter(upload__brand=brand_id)
    naming = list(rows.annotate(text=Cast("values", TextField())).filter(text__iregex=mentions.anywhere_in_sql))
    for row in naming:
        row.values = replace_mentions(row.values, mentions.anywhere, pseudonym)
    ImportRow.objects.bulk_update(naming, ["values"], batch_size=500)
    erase_mentions(rows, ("notes", "location"), mentions=mentions, pseudonym=pseudonym)
    earlier = ImportChange.objects.filter(upload__brand=brand_id)
    names = ("notes", "location", "inventory_location")
    erase_mentions(earlier, names, mentions=mentions, pseudonym=pseudonym)
