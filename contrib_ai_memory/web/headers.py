"""The security headers of the staff pages and of the API.

A page may load what is the game's own, and what the game's base template names: Evennia's takes
Bootstrap from CDNs and has a style attribute. Templates are files of the game's authors, so their
addresses and the hashes of what stands in them are allowed one by one, and nothing else is: a
stored text that slipped into a page as HTML would not run, nor send anything anywhere.
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

FRAME = ("website/base.html", "website/_menu.html")  # around every page

# the two style sheets that vendor/force-graph.min.js puts into the page, and the empty elements as
# which it does; tests/browser tells if they are others than these
_GRAPH_STYLES = (
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='",  # of nothing
    "'sha256-jtRRMYY2VbEXuBKbHvqM1/fPT8vazFrEooXdvwUK4y8='",
    "'sha256-9xjtvxMT1ApHlgn9ohbh2FNfvK5Tqtzy94BjfXBeMSY='",
)

_API_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def protect_page(response: HttpResponseBase) -> None:
    """Set the headers of a page."""
    _protect(response, page_policy())


def protect_answer(response: HttpResponseBase) -> None:
    """Set the headers of an answer of the API: it is data, and no page at all."""
    _protect(response, _API_POLICY)


def _protect(response: HttpResponseBase, policy: str) -> None:
    response["Content-Security-Policy"] = policy
    response["X-Frame-Options"] = "DENY"
    response["X-Content-Type-Options"] = "nosniff"  # what players typed is data, never a page
    response["Referrer-Policy"] = "same-origin"  # an address may hold what was searched for
    add_never_cache_headers(response)  # what people whispered stays out of every cache


@cache
def page_policy() -> str:
    """The Content-Security-Policy of the pages. Template files are read once, as Django does."""
    frame = _Frame()
    for text in _sources():
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
    """Collects what a template loads and what stands in it, as sources of a policy."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.sources: dict[str, list[str]] = {kind: [] for kind in ("script", "style", "img")}
        self._inside = self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if tag == "script":
            self._add("script", named.get("src", ""))
            self._inside = "" if "src" in named else tag
        elif tag == "link" and "stylesheet" in named.get("rel", ""):
            self._add("style", named.get("href", ""))
        elif tag == "img":
            self._add("img", named.get("src", ""))
        elif tag == "style":
            self._inside = tag
        if (style := named.get("style")) and not _is_made(style):
            self._put("style", _hash(style))

    def handle_data(self, data: str) -> None:
        if self._inside:
            self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside and self._text.strip() and not _is_made(self._text):
            self._put(tag, _hash(self._text))
        self._inside = self._text = ""

    def _add(self, kind: str, address: str) -> None:
        if address.startswith(("https://", "http://")) and not _is_made(address):
            bare = address.partition("?")[0].partition("#")[0]
            if not set(bare) & set(" ;,'\""):
                self._put(kind, bare)

    def _put(self, kind: str, source: str) -> None:
        if source not in self.sources[kind]:
            self.sources[kind].append(source)


def _sources() -> list[str]:
    """The text of the frame's templates: the game's own, and Evennia's that they may extend."""
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


def _is_made(text: str) -> bool:
    """Whether Django puts something into it that is not known before."""
    return "{{" in text or "{%" in text


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
