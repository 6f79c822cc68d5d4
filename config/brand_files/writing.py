"""Writes a brand file. The same configuration gives the same text, whatever the IDs of the rows."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import yaml

from brands.models.tenants import Brand
from config.brand_files.reading import FORMAT, PREFIX
from config.brand_files.sections import SECTIONS, ListSection, Section, rows_by_key
from core.db.snapshots import one_snapshot

HEADER = """\
# The configuration of the brand {slug}, brand file format {format}.
# Compare it with a brand: manage.py brand_plan BRAND FILE; apply it: manage.py brand_apply BRAND FILE
# Names, hostnames, keys, secrets, credentials, members and codes are not part of it.
"""


class _Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: FBT001, FBT002
        """Indent lists below their key."""
        super().increase_indent(flow, indentless=False)


def _decimal(dumper: Any, value: Decimal) -> Any:
    text = format(value.normalize(), "f")
    return dumper.represent_scalar(f"{PREFIX}{'float' if '.' in text else 'int'}", text)


def _moment(dumper: Any, value: datetime) -> Any:
    return dumper.represent_scalar(f"{PREFIX}timestamp", value.astimezone(UTC).isoformat().replace("+00:00", "Z"))


def _text(dumper: Any, value: str) -> Any:
    return dumper.represent_scalar(f"{PREFIX}str", value, style="|" if "\n" in value else None)


REPRESENTERS: list[tuple[Any, Any]] = [(Decimal, _decimal), (datetime, _moment), (str, _text)]
for kind, representer in REPRESENTERS:
    _Dumper.add_representer(kind, representer)


def write(brand: Brand) -> str:
    """The brand's configuration at one moment, as YAML. Must not be called in a transaction.

    Raises BrandFileError if two rows share a name.
    """
    with one_snapshot():
        brand = Brand.objects.get(pk=brand.pk)
        data: dict[str, Any] = {"format": FORMAT}
        for section in SECTIONS:
            value = _exported(section, brand)
            if value is not None:
                _put(data, section.path, value)
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return HEADER.format(slug=brand.slug, format=FORMAT) + text


def _exported(section: Section, brand: Brand) -> Any:
    if not isinstance(section, ListSection):
        row = section.row(brand)
        return section.values_of(row) if row is not None and row.pk else None
    result = rows_by_key(section, section.rows(brand), section.path)
    return [_with_parts(section, row) for _key, row in sorted(result.items())]


def _with_parts(section: ListSection, row: Any) -> dict[str, Any]:
    values = section.values_of(row)
    for part in section.parts:
        rows = rows_by_key(part, part.rows(row), f"{section.path}.{part.path}")
        values[part.path] = [part.values_of(each) for _key, each in sorted(rows.items())]
    return values


def _put(data: dict[str, Any], path: str, value: Any) -> None:
    *above, last = path.split(".")
    for name in above:
        data = data.setdefault(name, {})
    data[last] = value
