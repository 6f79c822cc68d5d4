"""The guide in the portal: each page of the portal has a section in it, and each mapped section exists."""

from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import NoReverseMatch, get_resolver, reverse

from brands.models.people import StaffRole
from brands.models.tenants import Brand
from portal.guide import markdown, sections
from tests.support.portal import LABELS, address, browser, staff, text

MAPPED_TARGETS = sorted({*sections.BY_ADDRESS.values(), *sections.BY_MODEL.values(), *sections.BY_ENDING.values()})


@pytest.mark.parametrize("target", MAPPED_TARGETS)
def test_mapped_section_exists(target: str) -> None:
    page, _mark, slug = target.partition("#")

    assert slug in {place.section.slug for place in sections.places() if place.page == page}


@pytest.mark.parametrize("name", sections.PAGES)
def test_guide_page_exists(name: str) -> None:
    assert sections.text_of(name).startswith("# ")


def test_every_list_has_a_section() -> None:
    models_with_lists = {
        label for label in LABELS if getattr(admin.site.get_model_admin(model_of(label)), "sidebar", None)
    }

    assert models_with_lists <= sections.BY_MODEL.keys()
    assert sections.BY_MODEL.keys() <= set(LABELS)


def model_of(label: str) -> Any:
    return next(model for model in admin.site._registry if model._meta.label_lower == label)


def test_every_mapped_custom_page_exists() -> None:
    names = {name for name in get_resolver().namespace_dict["admin"][1].reverse_dict if isinstance(name, str)}

    assert sections.BY_ADDRESS.keys() <= names


@pytest.mark.django_db
class TestPages:
    @pytest.fixture
    def client(self, brand: Brand) -> Client:
        return browser(staff(brand, role="support"))

    @pytest.mark.parametrize("role", StaffRole.Role.values)
    @pytest.mark.parametrize("name", sections.PAGES)
    def test_guide_page_is_available_to_every_role(self, brand: Brand, name: str, role: str) -> None:
        page = text(browser(staff(brand, role=role)).get(reverse("admin:help_page", args=[name])))

        for section in markdown.sections_of(sections.text_of(name)):
            assert f'id="{section.slug}"' in page

    @pytest.mark.parametrize("name", ["architecture", "changelog", "..", "nothing", "operations"])
    def test_other_documentation_is_not_served(self, client: Client, name: str) -> None:
        try:
            url = reverse("admin:help_page", args=[name])
        except NoReverseMatch:
            url = f"/admin/help/{name}/"
        assert client.get(url).status_code in {301, 302, 404}

    def test_only_pictures_of_the_guide_are_served(self, client: Client) -> None:
        response = client.get("/admin/help/images/login.png")
        assert (response.status_code, response["Content-Type"]) == (200, "image/png")

        invalid_names = ("..%2Fportal.md", "..%2F..%2Fmanage.py", "nothing.png", "login.PNG%00", "login.png.md")
        for name in (*invalid_names, "x" * 300 + ".png"):
            assert client.get(f"/admin/help/images/{name}").status_code in {400, 404}

    def test_anonymous_user_is_redirected_to_the_login(self) -> None:
        assert Client().get("/admin/help/").status_code == 302

    @pytest.mark.parametrize(
        ("url", "target"),
        [
            ("/admin/", "portal/#home"),
            (address("authcodes.scan"), "portal/#scans"),
            (address("loyalty.userpoints"), "portal/#members"),
        ],
    )
    def test_page_links_to_its_section(self, client: Client, url: str, target: str) -> None:
        assert f'href="/admin/help/{target}"' in text(client.get(url))


class TestMarkdown:
    def render(self, source: str) -> str:
        return str(markdown.render(source, link=lambda target: f"/to/{target}", picture=lambda target: target).html)

    def test_html_in_the_source_is_escaped(self) -> None:
        html = self.render(
            '# <b>x</b>\n\n<script>alert(1)</script> `<i>` [<u>](a"b) [t](javascript:alert)\n\n| <a> |\n|---|\n| <b> |'
        )

        for tag in ("<script", "<b>", "<i>", "<u>", "<a>", 'a"b', 'href="javascript'):
            assert tag not in html

    def test_renders_the_syntax_that_the_guide_uses(self) -> None:
        html = self.render(
            "## A *small* title\n\nOne **bold**, `co*d*e` and [a [link](x.md).\n\n- one\n  more\n- two\n\n1. first\n\n"
            "```sh\n# no heading\n\nline\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n![Alt](images/x.png)"
        )

        assert '<h2 id="a-small-title">A <em>small</em> title</h2>' in html
        assert "<strong>bold</strong>, <code>co*d*e</code>" in html
        assert '<a href="/to/x.md">' in html
        assert "<ul>\n<li>one\nmore</li>\n<li>two</li>\n</ul>" in html
        assert "<ol>\n<li>first</li>\n</ol>" in html
        assert "># no heading\n\nline\n</code></pre>" in html
        assert '<th scope="col">a</th>' in html
        assert "<td>2</td>" in html
        assert '<img src="images/x.png" alt="Alt" loading="lazy" />' in html

    def test_link_without_a_target_becomes_plain_text(self) -> None:
        html = str(markdown.render("See [the API](api/index.md).", link=lambda _target: "", picture=str).html)

        assert html == "<p>See the API.</p>\n"
