"""Commands say which refusals they end in, and endpoints answer with no others: their calls are read, and followed."""

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

# Every command and endpoint may end in these.
ALWAYS = {Invalid, RateLimited, Unavailable}
# What ends in a refusal is another function of the module; this one stores it on its event.
STORED = {scan_events.on_scan_auth: scan_events._accrue}
# What is read, but cannot happen.
IMPOSSIBLE = {
    undo.undo: {PointsAlreadyClaimed},  # the redemption is locked, and cancelled once
    "request_data_export": {NotFound},  # it has just been started
    "confirm_registration": {AccountMerged},  # it has just been made
    "list_rewards": set(rules.INELIGIBLE),  # its answer names them
}


def commands():
    found = {}
    for app in (brands, campaigns, loyalty, authcodes):
        for module in pkgutil.walk_packages(app.__path__, f"{app.__name__}."):
            for value in vars(importlib.import_module(module.name)).values():
                members = vars(value).values() if inspect.isclass(value) else [value]
                found |= {
                    each: value if inspect.isclass(value) else None
                    for each in members
                    if inspect.isfunction(each) and "raises" in vars(each)
                }
    return found


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


def answered(kind):
    """One without a code of its own is answered as the one that it is a kind of."""
    return kind if "code" in vars(kind) or kind.__base__ in ALWAYS else answered(kind.__base__)


def possible(kinds, who):
    return {answered(kind) for kind in kinds if hasattr(kind, "code")} - ALWAYS - IMPOSSIBLE.get(who, set())


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: f"{command.__module__}.{command.__qualname__}")
def test_command_says_what_it_raises(command):
    read = Reader().raised_by(STORED.get(command, command), COMMANDS[command])

    assert possible(read, command) == set(command.raises)


@pytest.mark.parametrize("name", ENDPOINTS)
def test_endpoint_describes_every_refusal_it_may_end_in(name):
    view, method = ENDPOINTS[name]
    responses = openapi.operation(name)["responses"].items()
    described = {
        code
        for status, each in responses
        if int(status) >= 400
        for code in each["content"]["application/json"]["examples"]
    }

    assert {kind.code for kind in possible(Reader().raised_by(method, view), name)} <= described


def test_every_endpoint_is_read():
    described = {each["operationId"] for item in openapi.description()["paths"].values() for each in item.values()}

    assert set(ENDPOINTS) == described


# --- How they are read -----------------------------------------------------------------------------------------------


class Refusing:
    def __init__(self):
        self.refuse()

    def refuse(self):
        raise Forbidden


@raises(NotFound)
def says_so():
    """What it says counts, whatever it does."""


def through_an_object():
    Refusing()


def through_another():
    return [says_so() for _ in range(2)]


def returned_and_raised():
    refusal = NotFound("Why not.")
    raise refusal


def caught():
    try:
        says_so()
    except DomainError:
        return []
    return [1]


def suppressed():
    with suppress(NotFound):
        says_so()


def noticed():
    try:
        says_so()
    except NotFound:
        len(through_another())
        raise


def caught_too_late():
    try:
        says_so()
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
def test_reader_follows(function, kinds, monkeypatch):
    monkeypatch.setattr("tests.support.machinery.raised.OURS", {"tests"})

    assert Reader().raised_by(function) == kinds
