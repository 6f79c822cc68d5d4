"""docs/portal-pages.md agrees with the code: its example, the names that it uses, and the hooks that it lists."""

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin

from portal.base.tenant_admin import TenantAdmin
from portal.unfold import ModelAdmin
from tests.support.portal import brand_with_one_of_each

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs/portal-pages.md").read_text()
PROSE = re.sub(r"```.*?```", "", GUIDE, flags=re.DOTALL)
NAMES = sorted(set(re.findall(r"`([A-Za-z_]+(?:\.[A-Za-z_]+)?)`", PROSE)))
BASE = ("portal.base", "portal.lists")
PAGES = re.compile(r"(portal|loyalty|campaigns|authcodes)\.")


def test_example_is_part_of_the_module() -> None:
    [example] = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)

    assert example in (ROOT / "loyalty/admin/notifications/sender_domains.py").read_text()


def known_names() -> dict[str, Any]:
    """What the modules of the portal and its pages define or import, and what each page has."""
    modules = [
        module for name, module in sys.modules.items() if PAGES.match(name) and ("portal" in name or "admin" in name)
    ]
    ports = vars(sys.modules["config.ports"])
    base_names = {name: getattr(TenantAdmin, name) for name in dir(TenantAdmin)}
    helpers = {"brand_with_one_of_each": brand_with_one_of_each}
    return {
        **ports,
        **helpers,
        **base_names,
        **{name: value for module in modules for name, value in vars(module).items()},
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_name_exists(name: str) -> None:
    first, _dot, attribute = name.partition(".")
    names = known_names()

    assert first in names
    assert not attribute or hasattr(names[first], attribute)


def test_every_hook_that_several_pages_override_is_listed() -> None:
    hooks = {
        name
        for base in TenantAdmin.__mro__
        if base.__module__.startswith(BASE)
        for name in vars(base)
        if not hasattr(ModelAdmin, name)
    }
    classes = {each for page in admin.site._registry.values() for each in type(page).__mro__}
    pages = [each for each in classes if PAGES.match(each.__module__) and not each.__module__.startswith(BASE)]
    overridden = Counter(name for each in pages for name in vars(each) if name in hooks)

    assert {name for name, times in overridden.items() if times > 2} <= set(NAMES)
