"""Common code of the commands for brand files."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.core.management.base import CommandError, OutputWrapper

from brands.models.tenants import Brand
from config.brand_files import reading
from config.brand_files.applying import Step
from config.brand_files.reading import MAX_BYTES, BrandFile, BrandFileError


def brand_of(slug: str) -> Brand:
    """Raises CommandError."""
    brand = Brand.objects.filter(slug=slug).first()
    if brand is None:
        raise CommandError(f"There is no brand {slug}.")
    return brand


def file_at(name: str) -> BrandFile:
    """Raises CommandError, BrandFileError."""
    try:
        with Path(name).open("rb") as file:
            return reading.read(file.read(MAX_BYTES + 1))
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error


@contextmanager
def reported() -> Iterator[None]:
    """Convert a BrandFileError to a CommandError, one problem a line."""
    try:
        yield
    except BrandFileError as error:
        raise CommandError("\n".join([*error.problems, "Nothing was changed."])) from error


def show(steps: Sequence[Step], out: OutputWrapper) -> bool:
    """Print the steps. Returns whether there are changes."""
    for step in steps:
        out.write(str(step))
    changes = sum(step.changes for step in steps)
    out.write(f"{changes} changes." if changes else "No changes.")
    return bool(changes)
