"""Security headers of the staff pages and the API.

A page may load the game's own files and the files its base template names: Evennia's loads
Bootstrap from CDNs and has a style attribute. Templates are written by the game's authors, so the
URLs and the hashes of inline code in them are allowed one by one, and nothing else is: a stored
text that got into a page as HTML could neither run nor send anything.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html.parser import HTMLParser
from typing import Any

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

_API_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def protect_page(response: HttpResponseBase) -> None:
    """Set the headers of a page."""
    _protect(response, page_policy())


def protect_api(response: HttpResponseBase) -> None:
    """Set the headers of an API response, which is never rendered as a page."""
    _protect(response, _API_POLICY)


def _protect(response: HttpResponseBase, policy: str) -> None:
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
        frame.feed(text)
    frame.close()
    return "; ".join(
        " ".join(directive)
        for directive in (
            ("default-src", "'none'"),
            ("script-src", "'self'", *frame.sources["script"]),
            ("style-src", "'self'", "'unsafe-hashes'", *_GRAPH_STYLES, *frame.sources["style"]),
            ("img-src", "'self'", "data:", *frame.sources["img"]),
            ("font-src", "'self'"),
            ("connect-src", "'self'"),
            ("form-action", "'self'"),
            ("base-uri", "'none'"),
            ("frame-ancestors", "'none'"),
        )
    )


class _Frame(HTMLParser):
    """Collects the URLs and the inline code of templates as sources of a policy."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.sources: dict[str, list[str]] = {kind: [] for kind in ("script", "style", "img")}
        self._inside = self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if tag == "script":
            self._add_url("script", named.get("src", ""))
            self._inside = "" if "src" in named else tag
        elif tag == "link" and "stylesheet" in named.get("rel", ""):
            self._add_url("style", named.get("href", ""))
        elif tag == "img":
            self._add_url("img", named.get("src", ""))
        elif tag == "style":
            self._inside = tag
        if (style := named.get("style")) and not _is_dynamic(style):
            self._append("style", _hash(style))

    def handle_data(self, data: str) -> None:
        if self._inside:
            self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside and self._text.strip() and not _is_dynamic(self._text):
            self._append(tag, _hash(self._text))
        self._inside = self._text = ""

    def _add_url(self, kind: str, address: str) -> None:
        if address.startswith(("https://", "http://")) and not _is_dynamic(address):
            url = address.partition("?")[0].partition("#")[0]
            if not set(url) & set(" ;,'\""):
                self._append(kind, url)

    def _append(self, kind: str, source: str) -> None:
        if source not in self.sources[kind]:
            self.sources[kind].append(source)


def _frame_templates() -> list[str]:
    """Return the text of all `FRAME` templates: the game's own and Evennia's, which they extend."""
    found = []
    for engine in (each.engine for each in engines.all() if hasattr(each, "engine")):
        for loader in engine.template_loaders:
            for name in FRAME:
                found += _contents(loader, name)
    return found


def _contents(loader: Any, name: str) -> list[str]:
    found = []
    for origin in loader.get_template_sources(name):
        try:
            found.append(origin.loader.get_contents(origin))
        except TemplateDoesNotExist:
            continue
    return found


def _is_dynamic(text: str) -> bool:
    """Whether the text has template tags, so that its hash is not known beforehand."""
    return "{{" in text or "{%" in text


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
