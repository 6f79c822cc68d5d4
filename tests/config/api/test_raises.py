"""Commands declare the errors that they raise, and endpoints describe all of them: their source code is analysed."""

import importlib
import inspect
import pkgutil
from contextlib import suppress

import pytest
from django.urls import get_resolver

import authcodes
import brands
import campaigns
import loyalty
from authcodes.scanning import scan_events
from core.errors import DomainError, Forbidden, Invalid, NotFound, RateLimited, Unavailable, raises
from loyalty.errors import PointsAlreadyClaimed
from loyalty.members.sessions import AccountMerged
from loyalty.rewards import rules, undo
from tests.support import openapi
from tests.support.machinery.raised import Reader

# Every command and endpoint may raise these.
ALWAYS = {Invalid, RateLimited, Unavailable}
# Another function of the module raises the error; this command stores it on its event.
STORED = {scan_events.on_scan_auth: scan_events._accrue}
# Errors that the analysis finds, but that cannot happen.
IMPOSSIBLE = {
    undo.undo: {PointsAlreadyClaimed},  # the redemption is locked, and cancelled once
    "request_data_export": {NotFound},  # it has just been started
    "confirm_registration": {AccountMerged},  # it has just been made
    "list_rewards": set(rules.INELIGIBLE),  # its answer names them
}


def commands():
    class_by_command = {}
    for app in (brands, campaigns, loyalty, authcodes):
        for module in pkgutil.walk_packages(app.__path__, f"{app.__name__}."):
            for value in vars(importlib.import_module(module.name)).values():
                members = vars(value).values() if inspect.isclass(value) else [value]
                class_by_command |= {
                    each: value if inspect.isclass(value) else None
                    for each in members
                    if inspect.isfunction(each) and "raises" in vars(each)
                }
    return class_by_command


def views(patterns):
    for each in patterns:
        if hasattr(each, "url_patterns"):
            yield from views(each.url_patterns)
        elif view := getattr(each.callback, "cls", None):
            yield view


COMMANDS = commands()
ENDPOINTS = {
    vars(method)["operation"]: (view, method)
    for view in views(get_resolver().url_patterns)
    for name in view.http_method_names
    if "operation" in vars(method := getattr(view, name, None) or object)
}


def answered_as(kind):
    """An error class without a code of its own is answered as its base class."""
    return kind if "code" in vars(kind) or kind.__base__ in ALWAYS else answered_as(kind.__base__)


def possible(kinds, name):
    return {answered_as(kind) for kind in kinds if hasattr(kind, "code")} - ALWAYS - IMPOSSIBLE.get(name, set())


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: f"{command.__module__}.{command.__qualname__}")
def test_command_declares_the_errors_that_it_raises(command):
    raised = Reader().raised_by(STORED.get(command, command), COMMANDS[command])

    assert possible(raised, command) == set(command.raises)


@pytest.mark.parametrize("name", ENDPOINTS)
def test_endpoint_describes_every_error_that_it_may_answer(name):
    view, method = ENDPOINTS[name]
    responses = openapi.operation(name)["responses"].items()
    described = {
        code
        for status, each in responses
        if int(status) >= 400
        for code in each["content"]["application/json"]["examples"]
    }

    assert {kind.code for kind in possible(Reader().raised_by(method, view), name)} <= described


def test_every_described_endpoint_is_analysed():
    described = {each["operationId"] for item in openapi.description()["paths"].values() for each in item.values()}

    assert set(ENDPOINTS) == described


# --- The reader ------------------------------------------------------------------------------------------------------


class Rejecting:
    def __init__(self):
        self.reject()

    def reject(self):
        raise Forbidden


@raises(NotFound)
def declares_an_error():
    """Its declaration counts, not its body."""


def through_an_object():
    Rejecting()


def through_another():
    return [declares_an_error() for _ in range(2)]


def returned_and_raised():
    error = NotFound("Why not.")
    raise error


def caught():
    try:
        declares_an_error()
    except DomainError:
        return []
    return [1]


def suppressed():
    with suppress(NotFound):
        declares_an_error()


def noticed():
    try:
        declares_an_error()
    except NotFound:
        len(through_another())
        raise


def caught_too_late():
    try:
        declares_an_error()
    finally:
        raise Forbidden


@pytest.mark.parametrize(
    ("function", "kinds"),
    [
        (through_an_object, {Forbidden}),
        (through_another, {NotFound}),
        (returned_and_raised, {NotFound}),
        (caught, set()),
        (suppressed, set()),
        (noticed, {NotFound}),
        (caught_too_late, {Forbidden, NotFound}),
    ],
)
def test_reader_finds_the_errors_of_a_function(function, kinds, monkeypatch):
    monkeypatch.setattr("tests.support.machinery.raised.OURS", {"tests"})

    assert Reader().raised_by(function) == kinds
