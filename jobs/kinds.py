"""Kinds of jobs. Each topic declares its own; settings.JOB_KINDS lists them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

NO_FILE = gettext_lazy("No file is created. You can start the job again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """What a worker does for a job of this kind, and what the job's page displays.

    `run` gets a `runner.Run`; it must be repeatable, because it may run again after a crash. `on_cancel` is the text
    about what becomes of the work.
    """

    name: str
    label: "StrOrPromise"
    run: Callable[[Any], None]
    on_cancel: "StrOrPromise"
    visible_with: str = ""  # label of the model that title and file are about: users who may view it see the job
    on_end: Callable[[Any], None] | None = None  # called with the job in the transaction that ends it
    may_cancel: Callable[[Any, Any], bool] | None = None  # called with job and user, instead of checking the role
    may_have_file: Callable[[Any, Any], bool] | None = None  # likewise, for the file
    details: str = ""  # the job's relation whose row has a page with more information
    related_rows: Callable[[Sequence[Any]], Mapping[int, Any]] | None = None  # by job ID
    names_customers: bool = False  # its file names customers
    is_urgent: bool = False
    for_customer: bool = False  # requested by customers, and not limited by a quota


@cache
def declared() -> dict[str, JobKind]:
    """All kinds by name, in the order of the setting."""
    kinds: list[JobKind] = [import_string(path) for path in settings.JOB_KINDS]
    return {kind.name: kind for kind in kinds}


def names(where: Callable[[JobKind], bool]) -> list[str]:
    return [kind.name for kind in declared().values() if where(kind)]


def details_fields() -> set[str]:
    """Names of the jobs' relations whose rows have a page with more information."""
    return {kind.details for kind in declared().values() if kind.details}


def lists_of_customers() -> set[str]:
    """Labels of the models whose lists name customers, so that staff search them for customers."""
    return {kind.visible_with for kind in declared().values() if kind.names_customers and kind.visible_with}


def choices() -> "list[tuple[str, StrOrPromise]]":
    return [(kind.name, kind.label) for kind in declared().values()]
