"""Where space is short: saving stays visible, tabs and choices can be read, and messages cover nothing."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.window import DESKTOP, PHONE, Window
from tests.support import factories


def box(element: Locator) -> dict[str, float]:
    bounds = element.bounding_box()
    assert bounds
    return {
        "left": bounds["x"],
        "right": bounds["x"] + bounds["width"],
        "top": bounds["y"],
        "bottom": bounds["y"] + bounds["height"],
    }


def is_apart(one: Locator, other: Locator) -> bool:
    """Whether the two do not overlap."""
    a, b = box(one), box(other)
    return a["right"] <= b["left"] or b["right"] <= a["left"] or a["bottom"] <= b["top"] or b["bottom"] <= a["top"]


def save_and_stay(window: Window, product: int) -> Locator:
    """Save the product; return the message, which stays because the change can be undone."""
    window.goto(f"authcodes/product/{product}/change/")
    window.page.locator("[name=is_active]").uncheck()
    window.button("Save and continue editing").click()
    toast = window.page.locator(".toast")
    toast.get_by_role("button", name="Undo").wait_for()
    return toast


def test_on_a_phone_save_stays_visible_and_other_buttons_follow_the_form(window, brand):
    owner = window("owner", PHONE)
    owner.goto("authcodes/product/add/")
    save, another = owner.button("Save"), owner.button("Save and add another")

    expect(save).to_be_in_viewport(ratio=1)
    expect(another).not_to_be_in_viewport()
    owner.page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    expect(another).to_be_in_viewport(ratio=1)
    assert is_apart(save, another)
    owner.page.locator("[name=title]").fill("Coffee beans")
    owner.page.locator("[name=sku]").fill("BEANS")
    owner.page.keyboard.press("Enter")  # saves as the first button does

    owner.page.wait_for_url("**/authcodes/product/")
    assert brand.products.get().title == "Coffee beans"


def test_on_a_phone_a_message_covers_no_button_after_scrolling(window, brand):
    owner = window("owner", PHONE)
    toast = save_and_stay(owner, factories.product(brand).pk)

    owner.page.wait_for_function("document.body.style.getPropertyValue('--toasts-height') !== ''")
    owner.page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")

    for name in ("Save", "Save and continue editing", "Save and add another"):
        assert is_apart(toast, owner.button(name)), name


def test_message_next_to_the_sidebar_covers_nothing_of_the_page(window, brand):
    owner = window("owner", DESKTOP)
    toast = save_and_stay(owner, factories.product(brand).pk)

    assert is_apart(toast, owner.page.locator("#main > .\\@container"))
    assert is_apart(toast, owner.page.locator("#nav-sidebar").get_by_text("Settings", exact=True))
    owner.page.locator("#main").get_by_text("dock_to_right").filter(visible=True).click()
    owner.page.wait_for_function("document.querySelector('.toast').getBoundingClientRect().right > innerWidth - 40")


@pytest.mark.parametrize("language", ["en", "ar"])
def test_tabs_fade_where_there_are_more_and_show_the_current_one(window, brand, language):
    owner = window("owner", PHONE)
    owner.context.set_extra_http_headers({"Accept-Language": language})
    strip = owner.page.locator(".group-tabs-strip")

    owner.goto("authcodes/product/")
    expect(strip).to_have_class("group-tabs-strip has-after")
    owner.goto("authcodes/import/")
    expect(strip).to_have_class("group-tabs-strip has-before")
    expect(strip.locator("[aria-current]")).to_be_in_viewport(ratio=1)


def test_long_choice_is_shown_completely(window, brand):
    owner = window()
    batch = factories.batch(brand, quantity=3)
    owner.goto(f"authcodes/printrun/batch/{batch.pk}/")

    sheet, output = owner.page.locator("#id_sheet"), owner.page.locator("#id_output")

    assert box(sheet)["bottom"] - box(sheet)["top"] > box(output)["bottom"] - box(output)["top"]
    assert sheet.evaluate("select => select.scrollHeight <= select.clientHeight + 1")
