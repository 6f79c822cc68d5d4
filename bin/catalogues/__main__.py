"""Synchronises the portal's catalogues with the code. bin/messages lists the commands."""

import sys
from gettext import GNUTranslations
from pathlib import Path

import django

from catalogues import po
from catalogues.po import Entry
from catalogues.sources import LANGUAGES, ROOT, Key, Marked, marked

CATALOGUES = ROOT / "portal" / "locale"
OF_CUSTOMERS = ROOT / "locale"
OF_DJANGO = ("conf", "contrib/admin", "contrib/auth")
# Django's German uses "Sichern" here, while the rest of the portal uses "Speichern".
OWN_TRANSLATIONS = {"Save and add another", "Save and continue editing", "Save and view", "Save as new"}
MAX_LISTED = 20


def path_of(language: str, root: Path = CATALOGUES, ending: str = "po") -> Path:
    return root / language / "LC_MESSAGES" / f"django.{ending}"


def required_texts(language: str) -> list[Marked]:
    """The texts that the portal's catalogue must contain: all marked ones, except customers' and Django's own."""
    of_customers = po.read(path_of(language, OF_CUSTOMERS)).keys()
    of_django = {key for key in django_translations(language) if key.message not in OWN_TRANSLATIONS}
    return [
        each
        for each in marked()
        if each.key not in of_customers and not (each.place.startswith("unfold/") and each.key in of_django)
    ]


def django_translations(language: str) -> set[Key]:
    result = set()
    for room in OF_DJANGO:
        path = path_of(language, Path(django.__file__).parent / room / "locale", "mo")
        with path.open("rb") as file:
            known = GNUTranslations(file)._catalog  # type: ignore[attr-defined] # noqa: SLF001 - it offers no list
        for key in known:
            text = key[0] if isinstance(key, tuple) else key
            context, _mark, message = text.rpartition("\x04")
            result.add(Key(message, context))
    return result


def entries_of(language: str) -> list[Entry]:
    """For each required text, its entry in the catalogue, or an empty one."""
    known, number = po.read(path_of(language)), int(LANGUAGES[language][9])
    result = []
    for each in required_texts(language):
        before = known.get(each.key)
        forms = before.forms if before and bool(before.plural) == bool(each.plural) else []
        empty = [""] * (number if each.plural else 1)
        result.append(Entry(each.key, each.plural, forms or empty, each.place))
    return result


def update(language: str) -> int:
    """Write and compile the catalogue. Returns how many texts are not translated."""
    entries, before = entries_of(language), po.read(path_of(language)).keys()
    gone = before - {entry.key for entry in entries}
    write(language, entries)
    missing = [entry for entry in entries if not entry.is_translated]
    print(f"{language}: {len(entries):,} texts, {len(missing):,} without a translation, {len(gone):,} gone")
    for entry in missing[:MAX_LISTED]:
        print(f"  {entry.place}: {entry.key.message}")
    if len(missing) > MAX_LISTED:
        print(f"  ... all of them: bin/messages missing {language}")
    return len(missing)


def write(language: str, entries: list[Entry]) -> None:
    path = path_of(language)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(po.text(entries, language=language, plurals=LANGUAGES[language]))
    compile_one(language, entries)


def compile_one(language: str, entries: list[Entry]) -> None:
    content = po.compiled(entries, language=language, plurals=LANGUAGES[language])
    path_of(language, ending="mo").write_bytes(content)


def take(language: str, file: str) -> None:
    """Replace translations by those in a file. Texts without a translation there are kept."""
    entries = po.read(path_of(language))
    for key, entry in po.read(Path(file)).items():
        if entry.is_translated:
            entries[key] = entry
    write(language, list(entries.values()))


def main(arguments: list[str]) -> int:
    match arguments:
        case []:
            return 1 if sum(map(update, LANGUAGES)) else 0
        case ["missing", language] if language in LANGUAGES:
            missing = [entry for entry in entries_of(language) if not entry.is_translated]
            print(po.text(missing, language=language, plurals=LANGUAGES[language]), end="")
            return 0
        case ["take", language, file] if language in LANGUAGES and Path(file).is_file():
            take(language, file)
            return 1 if update(language) else 0
        case ["compile"]:
            for language in LANGUAGES:
                compile_one(language, list(po.read(path_of(language)).values()))
            return 0
    print((ROOT / "bin" / "messages").read_text().partition("\n#\n")[2].partition("\n#\n")[0], file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
