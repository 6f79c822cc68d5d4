"""The nginx.conf of docs/operations lets through what the service accepts, and logs no secrets."""

import re

from django.urls import URLResolver, get_resolver

from config.serving.admission import API, IMPORTS, PAGES, most_bytes
from tests.support.live_stack import ROOT

CONFIGURATION = (ROOT / "docs" / "operations" / "nginx.conf").read_text()
MEBIBYTE = 2**20


def max_body_bytes(location=""):
    """The limit of bodies in a location, or else the server's."""
    part = CONFIGURATION.partition(f"location {location} {{")[2].partition("}")[0] if location else CONFIGURATION
    return int(re.search(r"client_max_body_size +([0-9]+)m;", part)[1]) * MEBIBYTE


def test_each_upload_that_the_service_accepts_passes_the_proxy():
    assert max_body_bytes() >= most_bytes("/api/v1/auth-codes/scan", API)
    assert max_body_bytes("/admin/") >= most_bytes("/admin/authcodes/import/add/", PAGES)
    assert max_body_bytes(IMPORTS) >= most_bytes(f"{IMPORTS}products", API)


def test_log_has_neither_the_query_nor_the_referring_page():
    logged = re.search(r"log_format loyalty (.*?);\n", CONFIGURATION, re.DOTALL)[1]

    assert set(re.findall(r"\$\w+", logged)).isdisjoint(
        {"$request", "$request_uri", "$args", "$query_string", "$http_referer", "$uri"}
    )
    assert re.search(r"access_log \S+ loyalty;", CONFIGURATION)
    assert CONFIGURATION.count("access_log") == 1


def routes(patterns, above=""):
    for each in patterns:
        route = f"{above}{each.pattern}"
        if isinstance(each, URLResolver):
            yield from routes(each.url_patterns, route)
        else:
            yield route


def test_log_has_only_the_beginning_of_links_in_mails():
    links = re.search(r"~(\^\(\?<loyalty_link>\S+)", CONFIGURATION)[1].replace("?<", "?P<")
    with_token = [f"/{route}" for route in routes(get_resolver().url_patterns) if "<str:token>" in route]

    assert len(with_token) >= 9
    assert [path for path in with_token if not re.match(links, path)] == []
    assert not re.match(links, "/api/v1/customer")
