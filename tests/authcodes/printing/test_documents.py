"""Designed documents: their texts are complete in any script, and no text makes the renderer fetch a resource."""

import io
import socket
import sys

import pytest
from django.contrib.messages import get_messages
from django.utils import timezone, translation
from pypdf import PdfReader

from authcodes.models.prints import PrintRun
from authcodes.printing import documents, posters, selection
from authcodes.printing.documents import LibrariesMissing
from authcodes.printing.labels.presets import DEFAULT_PRESET
from authcodes.printing.request import PrintRequest
from authcodes.recalls import recalls
from brands.scanned import read
from brands.tenants import hostnames
from core import languages
from tests.support import factories
from tests.support.portal import address, browser, print_run_of, staff
from tests.support.portal import text as body_of
from tests.support.print_jobs import content, finished

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
FETCHING = [
    '<img src="http://127.0.0.1:9/a.png">',
    '<img src="file:///etc/passwd">',
    '<link rel="stylesheet" href="http://169.254.169.254/latest/meta-data/">',
    '<link rel="attachment" href="file:///etc/passwd">',
    '<a rel="attachment" href="file:///etc/hostname">x</a>',
    '<style>@import url("http://127.0.0.1:9/a.css");</style>',
    '<style>body { background: url("ftp://127.0.0.1/a.png") }</style>',
    '<object data="http://[::1]:9/a.svg"></object>',
    '<svg xmlns="http://www.w3.org/2000/svg"><image href="http://127.0.0.1:9/a.png"/></svg>',
    '<iframe src="file:///etc/passwd"></iframe>',
    '"><script src="//127.0.0.1:9/a.js"></script>',
    "<embed src=\"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>\">",
]


@pytest.fixture
def connections(monkeypatch):
    """The attempts to open a connection or to resolve a name, each of which fails."""
    attempts = []

    def fail_connection(*args, **_kwargs):
        attempts.append(args)
        raise OSError("no network here")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, fail_connection)
    monkeypatch.setattr(socket, "getaddrinfo", fail_connection)
    return attempts


def pdf_text(data):
    return " ".join("\n".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages).split())


def without_spaces(text):
    """The text without white space, because line breaks depend on the page."""
    return "".join(text.split())


def run_of(brand, **fields):
    batch = factories.batch(brand, prefix="AB-", quantity=3, range_name="Spring", **fields)
    run = print_run_of(batch, by=staff(brand, email="ann@example.com"))
    PrintRun.objects.filter(pk=run.pk).update(sha256="ab" * 32, pages=1, read_back=3)
    run.refresh_from_db()
    return run


def recall_of(brand, **fields):
    batch = factories.batch(
        brand,
        prefix=fields.pop("prefix", "RC-"),
        quantity=3,
        product=factories.product(brand, title=fields.pop("title", "Tea")),
    )
    defaults = {"recall_id": "R-77", "contact": "call 0800", "message": "Do not drink it.", "reason": "secret mould"}
    return recalls.recall_batch(batch=batch, at=timezone.now(), **{**defaults, **fields})


def poster_of(recall, language="en"):
    return posters.as_pdf(posters.of_recall(recall), language)


def test_cover_sheet_describes_the_print_run(brand):
    document_text = pdf_text(documents.cover_sheet(run_of(brand)))

    for expected_text in ("Spring", "First code AB-0001", "Last code AB-0003", "Codes 3", "ann@example.com", "21.5 mm"):
        assert expected_text in document_text
    assert "ab" * 32 in without_spaces(document_text)
    assert "1 / 1" in document_text


@pytest.mark.parametrize("payload", ["address", "code", "gs1"])
def test_specimen_is_as_long_as_a_payload_but_not_a_real_code(brand, payload):
    run = run_of(brand, product=factories.product(brand, gtin="4006381333931"))
    print_request = PrintRequest(payload=payload)

    text = documents.specimen(run, print_request)

    payload_of_code = selection.payload_of(run.batch.codes.first(), print_request, hostnames.hostname_of(brand.pk))
    assert len(text) == len(payload_of_code)
    assert read(text).code == "SPECIME"


def test_poster_has_the_message_for_customers_but_not_the_reason(brand):
    document_text = pdf_text(poster_of(recall_of(brand)))

    for expected_text in ("R-77", "call 0800", "Do not drink it.", "Tea", "RC-0001", brand.support_email):
        assert expected_text in document_text
    assert "mould" not in document_text


@pytest.mark.parametrize("title", ["Čaj žlutý", "Зелёный чай", "Πράσινο τσάι", "شاي أخضر", "תה ירוק"])
def test_other_scripts_are_rendered_with_the_projects_fonts(brand, title):
    reader = PdfReader(io.BytesIO(poster_of(recall_of(brand, title=title, message=title))))

    fonts = {str(font["/BaseFont"]) for page in reader.pages for font in map(dict, fonts_of(page))}
    assert {name.partition("+")[2].replace("-", "") for name in fonts} <= {
        "OursRegular",
        "Ours",
        "DejaVuSans",
        "DejaVuSansBold",
        "OursBold",
    }


def fonts_of(page):
    return [font.get_object() for font in page["/Resources"]["/Font"].values()]


@pytest.mark.parametrize(
    ("text", "direction"), [("Tea", "ltr"), ("شاي", "rtl"), ("12 תה tea", "rtl"), ("", "ltr"), ("12", "ltr")]
)
def test_text_direction_follows_the_first_letter_that_has_one(text, direction):
    assert documents.direction(text) == direction


@pytest.mark.parametrize("text", FETCHING)
def test_urls_in_texts_of_documents_are_not_fetched(brand, text, connections):
    poster = poster_of(recall_of(brand, title=text, message=text, contact=text))
    cover = documents.cover_sheet(run_of(brand, product=factories.product(brand, title=text)))

    assert without_spaces(text) in without_spaces(pdf_text(poster))
    assert without_spaces(text) in without_spaces(pdf_text(cover))
    assert "root:" not in pdf_text(poster) + pdf_text(cover)
    assert not PdfReader(io.BytesIO(poster)).attachments
    assert connections == []


def test_urls_in_texts_of_labels_are_not_fetched(brand, connections):
    product = factories.product(brand)
    for number, text in enumerate(FETCHING):
        product.title, product.sku = text, text[:64]
        product.save()
        run = print_run_of(
            factories.batch(brand, prefix=f"X{number}-", product=product), preset=DEFAULT_PRESET, sku=True
        )
        run = finished(run)
        assert run.job.status == "done"
        assert b"root:" not in content(run.job)

    assert connections == []


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:9/",
        "https://example.com/",
        "file:///etc/passwd",
        "data:text/plain,x",
        "files:other",
        "FTP://a",
    ],
)
def test_fetcher_returns_only_files_of_the_document(address, connections):
    fetcher = documents._fetcher_class()({"a.png": b"bytes"})

    assert fetcher("files:a.png").read() == b"bytes"
    with pytest.raises(ValueError, match="may fetch nothing"):
        fetcher(address)
    assert connections == []


def test_error_about_missing_libraries_names_what_to_install(brand, monkeypatch):
    recall = recall_of(brand)
    monkeypatch.setitem(sys.modules, "weasyprint", None)

    with pytest.raises(LibrariesMissing, match="libpango"):
        poster_of(recall)


# --- Limits on drawing posters, which takes processor time that all brands share


def test_message_of_many_lines_is_complete_on_few_pages(brand):
    lines = [f"line{number}" for number in range(600)]
    recall = recall_of(brand, message="\n\n\n".join(lines))

    poster = poster_of(recall)

    assert len(PdfReader(io.BytesIO(poster)).pages) <= 4
    assert not set(lines) - set(pdf_text(poster).split())


def test_poster_is_drawn_again_only_when_its_content_changes(brand, monkeypatch):
    posters.cached_pdf.cache_clear()
    calls, real_drawn = [], posters.drawn
    monkeypatch.setattr(posters, "drawn", lambda text: calls.append(text) or real_drawn(text))
    recall, client = recall_of(brand), browser(staff(brand))
    url = address("authcodes.printrun", "poster", recall.pk)

    files = {body_of(client.get(url)) for _time in range(3)}
    assert (len(files), len(calls)) == (1, 1)
    body_of(client.get(f"{url}?language=de"))
    recall.contact = "call 0900"
    recall.save()
    assert "call 0900" in body_of(client.get(url))
    assert len(calls) == 3


def test_rate_limit_for_drawing_posters_applies_per_brand(brand, settings):
    posters.cached_pdf.cache_clear()
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "document": "1/hour"}
    recall, other_recall = recall_of(brand), recall_of(factories.brand(), prefix="XY-")

    def get_poster(of_recall, language):
        return browser(staff(of_recall.brand)).get(
            f"{address('authcodes.printrun', 'poster', of_recall.pk)}?language={language}"
        )

    assert [get_poster(recall, language)["Content-Type"] for language in ("de", "de")] == ["application/pdf"] * 2
    rate_limited = get_poster(recall, "en")
    assert rate_limited["Location"] == address("authcodes.recall", "change", recall.pk)
    assert "Too many requests" in str(next(iter(get_messages(rate_limited.wsgi_request))))
    assert get_poster(other_recall, "en")["Content-Type"] == "application/pdf"


@pytest.mark.parametrize("name", ["poster", "draft", "cover"])
def test_missing_libraries_are_reported_in_the_language_of_the_user(brand, monkeypatch, name):
    def missing():
        raise LibrariesMissing

    monkeypatch.setattr(documents, "_weasyprint", missing)
    posters.cached_pdf.cache_clear()
    client = browser(staff(brand))
    client.cookies[languages.PORTAL_COOKIE] = "de"
    if name == "poster":
        answer = client.get(f"{address('authcodes.printrun', 'poster', recall_of(brand).pk)}?language=ar")
    elif name == "cover":
        answer = client.get(address("authcodes.printrun", "cover", run_of(brand).pk))
    else:
        url = f"{address('authcodes.recall', 'poster')}?batches={factories.batch(brand).pk}"
        answer = client.post(url, {"recall_id": "R-1", "contact": "x", "message": "y", "poster": "ar"})

    with translation.override("de"):
        expected = str(LibrariesMissing.default_message)
    assert expected != LibrariesMissing.default_message
    assert str(next(iter(get_messages(answer.wsgi_request)))) == expected
