"""Security headers of the staff pages and the API.

A page may load the game's own files and the files its base template names: Evennia's loads
Bootstrap from CDNs and has a style attribute. Templates are written by the game's authors, so the
URLs and the hashes of inline code in them are allowed one by one, and nothing else is: a stored
text that got into a page as HTML could neither run nor send anything.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from functools import cache
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
    frame: dict[str, dict[str, None]] = {"script": {}, "style": {}, "img": {}}
    for text in _frame_templates():
        for kind, source in _sources(text):
            frame[kind][source] = None
    return "; ".join(
        " ".join(directive)
        for directive in (
            ("default-src", "'none'"),
            ("script-src", "'self'", *frame["script"]),
            ("style-src", "'self'", "'unsafe-hashes'", *_GRAPH_STYLES, *frame["style"]),
            ("img-src", "'self'", "data:", *frame["img"]),
            ("font-src", "'self'"),
            ("connect-src", "'self'"),
            ("form-action", "'self'"),
            ("base-uri", "'none'"),
            ("frame-ancestors", "'none'"),
        )
    )


_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TAG = re.compile(r"<(script|link|img)\b([^>]*)>", re.IGNORECASE)
_URL = re.compile(r"\b(?:src|href)=[\"'](https?://[^\"'?#]*)", re.IGNORECASE)
_INLINE = re.compile(r"<(script|style)\b([^>]*)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_STYLE = re.compile(r"\sstyle=\"([^\"]*)\"", re.IGNORECASE)


def _sources(text: str) -> Iterator[tuple[str, str]]:
    """Yield the URLs and the hashes of inline code in a template, each with what it is of: script,
    style or img. Of code with template tags the hash is not known beforehand."""
    text = _COMMENT.sub("", text)
    for name, attributes in _TAG.findall(text):
        tag = name.lower()
        url = _URL.search(attributes)
        if url and not set(url[1]) & set(" ;,{") and (tag != "link" or "stylesheet" in attributes):
            yield "style" if tag == "link" else tag, url[1]
    inline = [each for each in _INLINE.findall(text) if "src=" not in each[1] and each[2].strip()]
    inline += [("style", "", style) for style in _STYLE.findall(text)]
    for kind, _attributes, code in inline:
        if "{{" not in code and "{%" not in code:
            digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
            yield kind.lower(), f"'sha256-{digest}'"


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
