"""Which scripts a page loads."""

from typing import Any

from django.forms import Media

from portal.unfold import ModelAdmin

SLUG_SCRIPTS = {
    f"admin/js/{name}.js" for name in ("urlify", "prepopulate", "vendor/xregexp/xregexp", "vendor/xregexp/xregexp.min")
}


class WithoutSlugScripts(ModelAdmin):
    """Django's pages load 50 kB of scripts that generate slugs; here only pages that need them do."""

    makes_slugs = False  # whether a slug is generated while a name is typed

    @property
    def media(self) -> Media:
        result: Any = super().media
        if not self.makes_slugs:
            # There is no public API. The lists stay separate: their later merge decides the order.
            lists = result._js_lists  # noqa: SLF001
            result._js_lists = [[each for each in names if each not in SLUG_SCRIPTS] for names in lists]  # noqa: SLF001
        media: Media = result
        return media
