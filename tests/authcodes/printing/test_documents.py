"""Designed documents: they say what they should in any script, and whatever is written in them fetches nothing."""

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
from tests.support.portal import address, browser, printed, staff
from tests.support.portal import text as content_of
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
def no_socket(monkeypatch):
    """Whoever opens a connection, or looks a name up, is found out."""
    opened = []

    def refuse(*where, **_more):
        opened.append(where)
        raise OSError("no network here")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return opened


def terms_of(data):
    return " ".join("\n".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages).split())


def packed(text):
    """Without white space, where lines are broken as the page needs."""
    return "".join(text.split())


def run_of(brand, **fields):
    batch = factories.batch(brand, prefix="AB-", quantity=3, range_name="Spring", **fields)
    run = printed(batch, by=staff(brand, email="ann@example.com"))
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


def test_cover_sheet_says_what_was_printed(brand):
    terms = terms_of(documents.cover_sheet(run_of(brand)))

    for expected_text in ("Spring", "First code AB-0001", "Last code AB-0003", "Codes 3", "ann@example.com", "21.5 mm"):
        assert expected_text in terms
    assert "ab" * 32 in packed(terms)
    assert "1 / 1" in terms


@pytest.mark.parametrize("payload", ["address", "code", "gs1"])
def test_specimen_is_no_code_and_has_as_many_modules(brand, payload):
    run = run_of(brand, product=factories.product(brand, gtin="4006381333931"))
    print_request = PrintRequest(payload=payload)

    text = documents.specimen(run, print_request)

    real = selection.payload_of(run.batch.codes.first(), print_request, hostnames.hostname_of(brand.pk))
    assert len(text) == len(real)
    assert read(text).code == "SPECIME"


def test_a_poster_tells_customers_and_not_the_reason(brand):
    terms = terms_of(poster_of(recall_of(brand)))

    for expected_text in ("R-77", "call 0800", "Do not drink it.", "Tea", "RC-0001", brand.support_email):
        assert expected_text in terms
    assert "mould" not in terms


@pytest.mark.parametrize("title", ["Čaj žlutý", "Зелёный чай", "Πράσινο τσάι", "شاي أخضر", "תה ירוק"])
def test_other_scripts_are_drawn_with_the_projects_font(brand, title):
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
    ("text", "way"), [("Tea", "ltr"), ("شاي", "rtl"), ("12 תה tea", "rtl"), ("", "ltr"), ("12", "ltr")]
)
def test_direction_is_that_of_the_first_letter_with_one(text, way):
    assert documents.direction(text) == way


@pytest.mark.parametrize("text", FETCHING)
def test_nothing_that_is_written_in_a_document_is_fetched(brand, text, no_socket):
    poster = poster_of(recall_of(brand, title=text, message=text, contact=text))
    cover = documents.cover_sheet(run_of(brand, product=factories.product(brand, title=text)))

    assert packed(text) in packed(terms_of(poster))
    assert packed(text) in packed(terms_of(cover))
    assert "root:" not in terms_of(poster) + terms_of(cover)
    assert not PdfReader(io.BytesIO(poster)).attachments
    assert no_socket == []


def test_labels_fetch_nothing_either(brand, no_socket):
    product = factories.product(brand)
    for number, text in enumerate(FETCHING):
        product.title, product.sku = text, text[:64]
        product.save()
        run = printed(factories.batch(brand, prefix=f"X{number}-", product=product), preset=DEFAULT_PRESET, sku=True)
        run = finished(run)
        assert run.job.status == "done"
        assert b"root:" not in content(run.job)

    assert no_socket == []


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
def test_fetcher_answers_with_the_documents_own_files_only(address, no_socket):
    fetcher = documents._fetcher_class()({"a.png": b"bytes"})

    assert fetcher("files:a.png").read() == b"bytes"
    with pytest.raises(ValueError, match="may fetch nothing"):
        fetcher(address)
    assert no_socket == []


def test_server_without_the_libraries_says_what_to_install(brand, monkeypatch):
    recall = recall_of(brand)
    monkeypatch.setitem(sys.modules, "weasyprint", None)

    with pytest.raises(LibrariesMissing, match="libpango"):
        poster_of(recall)


# --- A poster keeps a processor busy, which all brands share


def test_a_message_of_many_lines_is_on_few_pages_with_all_its_words(brand):
    lines = [f"line{number}" for number in range(600)]
    recall = recall_of(brand, message="\n\n\n".join(lines))

    made = poster_of(recall)

    assert len(PdfReader(io.BytesIO(made)).pages) <= 4
    assert not set(lines) - set(terms_of(made).split())


def test_a_poster_is_drawn_once_for_as_long_as_it_says_the_same(brand, monkeypatch):
    posters.cached_pdf.cache_clear()
    calls, real = [], posters.drawn
    monkeypatch.setattr(posters, "drawn", lambda text: calls.append(text) or real(text))
    recall, client = recall_of(brand), browser(staff(brand))
    where = address("authcodes.printrun", "poster", recall.pk)

    files = {content_of(client.get(where)) for _time in range(3)}
    assert (len(files), len(calls)) == (1, 1)
    content_of(client.get(f"{where}?language=de"))
    recall.contact = "call 0900"
    recall.save()
    assert "call 0900" in content_of(client.get(where))
    assert len(calls) == 3


def test_a_brand_that_has_too_many_posters_drawn_waits_and_no_other_does(brand, settings):
    posters.cached_pdf.cache_clear()
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "document": "1/hour"}
    recall, foreign = recall_of(brand), recall_of(factories.brand(), prefix="XY-")

    def answer(of, language):
        return browser(staff(of.brand)).get(f"{address('authcodes.printrun', 'poster', of.pk)}?language={language}")

    assert [answer(recall, language)["Content-Type"] for language in ("de", "de")] == ["application/pdf"] * 2
    refused = answer(recall, "en")
    assert refused["Location"] == address("authcodes.recall", "change", recall.pk)
    assert "Too many requests" in str(next(iter(get_messages(refused.wsgi_request))))
    assert answer(foreign, "en")["Content-Type"] == "application/pdf"


@pytest.mark.parametrize("name", ["poster", "draft", "cover"])
def test_why_no_document_is_made_is_said_in_the_language_of_whoever_asks(brand, monkeypatch, name):
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
        where = f"{address('authcodes.recall', 'poster')}?batches={factories.batch(brand).pk}"
        answer = client.post(where, {"recall_id": "R-1", "contact": "x", "message": "y", "poster": "ar"})

    with translation.override("de"):
        expected = str(LibrariesMissing.default_message)
    assert expected != LibrariesMissing.default_message
    assert str(next(iter(get_messages(answer.wsgi_request)))) == expected
