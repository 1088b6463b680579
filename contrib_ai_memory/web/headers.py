"""Security headers of the staff pages and the API.

A page may load the game's own files and the files its base template names: Evennia's loads
Bootstrap from CDNs and has a style attribute. Templates are written by the game's authors, so the
URLs and the hashes of inline code in them are allowed one by one, and nothing else is: a stored
text that got into a page as HTML could neither run nor send anything.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from html.parser import HTMLParser
from itertools import product

from django.http import HttpResponseBase
from django.template import TemplateDoesNotExist, engines
from django.utils.cache import add_never_cache_headers

FRAME = ("website/base.html", "website/_menu.html")  # the templates around every page

# The two style sheets that vendor/force-graph.min.js adds to the page, and the empty elements it
# adds them with; tests/browser fails if these change.
_GRAPH_STYLES = (
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='",  # the empty string
    "'sha256-jtRRMYY2VbEXuBKbHvqM1/fPT8vazFrEooXdvwUK4y8='",
    "'sha256-9xjtvxMT1ApHlgn9ohbh2FNfvK5Tqtzy94BjfXBeMSY='",
)

API_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def protect(response: HttpResponseBase, policy: str) -> None:
    """Set the headers of a page or an API response, with its Content-Security-Policy."""
    response["Content-Security-Policy"] = policy
    response["X-Frame-Options"] = "DENY"
    response["X-Content-Type-Options"] = "nosniff"  # player text is never sniffed as HTML
    response["Referrer-Policy"] = "same-origin"  # a URL may contain search words
    add_never_cache_headers(response)  # keep secrets out of every cache


@cache
def page_policy() -> str:
    """Return the Content-Security-Policy of the pages. Templates are read once, as Django does."""
    frame = _Frame()
    for text in _frame_templates():
        frame.reset()
        frame.feed(text)
    script, style, img = (" ".join(found) for found in frame.sources.values())
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' {script}".rstrip(),
            f"style-src 'self' 'unsafe-hashes' {' '.join(_GRAPH_STYLES)} {style}".rstrip(),
            f"img-src 'self' data: {img}".rstrip(),
            "font-src 'self'",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )


class _Frame(HTMLParser):
    """Collects the URLs and the hashes of inline code in templates, by what they are of.

    Of code with template tags the hash is not known beforehand.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sources: dict[str, dict[str, None]] = {"script": {}, "style": {}, "img": {}}
        self._inline = self._code = ""  # the element that is open if its text is code, and its text

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        kind = "style" if tag == "link" and "stylesheet" in given.get("rel", "") else tag
        url = given.get("href" if tag == "link" else "src", "").partition("?")[0].partition("#")[0]
        remote = url.startswith(("https://", "http://")) and not set(url) & set(" ;,{")
        if remote and kind in self.sources:
            self.sources[kind][url] = None
        self._inline = kind if kind in ("script", "style") and "src" not in given else ""
        self._add_code("style", given.get("style", ""))

    def handle_data(self, data: str) -> None:
        self._code += data if self._inline else ""

    def handle_endtag(self, tag: str) -> None:
        self._add_code(self._inline, self._code)
        self._inline = self._code = ""

    def _add_code(self, kind: str, code: str) -> None:
        if code.strip() and "{{" not in code and "{%" not in code:
            digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
            self.sources[kind][f"'sha256-{digest}'"] = None


def _frame_templates() -> Iterator[str]:
    """Yield all `FRAME` templates: the game's own and Evennia's, which they extend."""
    django_engines = [each.engine for each in engines.all() if hasattr(each, "engine")]
    loaders = [loader for engine in django_engines for loader in engine.template_loaders]
    for loader, name in product(loaders, FRAME):
        for origin in loader.get_template_sources(name):
            with suppress(TemplateDoesNotExist):
                yield origin.loader.get_contents(origin)
