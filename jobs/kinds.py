"""Kinds of jobs: topics declare them, and settings.JOB_KINDS names them."""

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
    """What a worker does for a job of this kind, and what the job's page says.

    `run` gets a `runner.Run`; it may be run again after a crash, and must bear that. `on_cancel` says what becomes of
    the work.
    """

    name: str
    label: "StrOrPromise"
    run: Callable[[Any], None]
    on_cancel: "StrOrPromise"
    visible_with: str = ""  # label of the model whose rows its title and file name: who may see those sees the job
    on_end: Callable[[Any], None] | None = None  # of the job, in the transaction in which it ends, however it does
    may_cancel: Callable[[Any, Any], bool] | None = None  # of a job and a person, in place of the person's role
    may_have_file: Callable[[Any, Any], bool] | None = None  # likewise
    details: str = ""  # name of the row, on the job, whose page says more
    related_rows: Callable[[Sequence[Any]], Mapping[int, Any]] | None = None  # by the ids of jobs
    names_customers: bool = False  # in its file
    is_urgent: bool = False
    for_customer: bool = False  # customers ask for these, and nobody's quota bounds how many


@cache
def declared() -> dict[str, JobKind]:
    """By name, in the order of the settings."""
    kinds: list[JobKind] = [import_string(path) for path in settings.JOB_KINDS]
    return {kind.name: kind for kind in kinds}


def names(where: Callable[[JobKind], bool]) -> list[str]:
    return [kind.name for kind in declared().values() if where(kind)]


def details_fields() -> set[str]:
    """Names of the jobs' relations whose rows have a page that says more."""
    return {kind.details for kind in declared().values() if kind.details}


def lists_of_customers() -> set[str]:
    """Labels of the models whose lists name customers, and so are searched for them."""
    return {kind.visible_with for kind in declared().values() if kind.names_customers and kind.visible_with}


def choices() -> "list[tuple[str, StrOrPromise]]":
    return [(kind.name, kind.label) for kind in declared().values()]
