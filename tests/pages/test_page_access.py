"""Who may open the staff pages, what the log says of it, and their security headers."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from page_visits import PAGES, logged_in, main_of, told, url, words

from contrib_ai_memory.admin import audit
from contrib_ai_memory.web import headers


@pytest.mark.parametrize("page", PAGES)
def test_an_anonymous_visitor_is_redirected_to_the_login_page(page, client, mara):
    there = client.get(url(page, mara))
    assert there.status_code == 302
    assert there["Location"].startswith("/auth/login/?next=")


@pytest.mark.parametrize("page", PAGES)
def test_a_player_gets_the_same_refusal_for_existing_and_missing_npcs(page, client, mara):
    logged_in(client, "Player")
    there = client.get(url(page, mara))
    nobody = client.get(url(page, mara).replace(f"/{mara.id}/", "/99999/"))
    assert there.status_code == nobody.status_code == 403
    assert main_of(there) == main_of(nobody)
    assert "Mara" not in main_of(there)


def test_a_player_can_neither_list_nor_change_anything(client, mara, alice):
    [entry] = told(mara, alice, "I keep the ferry at Millbrook.")
    logged_in(client, "Player")
    assert client.get(reverse("ai_memory:npcs")).status_code == 403
    assert client.get(reverse("ai_memory:settings")).status_code == 403
    forget = url("do_memory", mara, entry.id, "forget")
    assert client.post(forget).status_code == 403
    assert client.post(url("edit", mara, entry.id), {"content": "No."}).status_code == 403
    assert mara.memory.journal.get(entry.id) == entry


@pytest.mark.parametrize("rank", ["builder", "is_staff", "is_superuser"])
def test_staff_and_builders_have_access(rank, client, mara):
    logged_in(client, "Somebody", **{rank: True})
    for page in PAGES:
        assert client.get(url(page, mara)).status_code == 200, page


def test_an_npc_whose_lock_refuses_a_builder_looks_missing(client, mara):
    mara.locks.add("memory_look:false()")
    logged_in(client, "Builder", builder=True)
    assert url("overview", mara) not in main_of(client.get(reverse("ai_memory:npcs")))
    locked, nobody = client.get(url("journal", mara)), client.get("/memory/99999/journal/")
    assert locked.status_code == nobody.status_code == 404
    assert main_of(locked) == main_of(nobody)


def test_a_builder_without_edit_access_sees_no_buttons_and_can_change_nothing(client, mara, alice):
    [entry] = told(mara, alice, "I keep the ferry at Millbrook.")
    mara.locks.add("memory_edit:false()")
    logged_in(client, "Builder", builder=True)
    page = client.get(url("memory", mara, entry.id))
    assert "Millbrook" in words(page)
    assert "/do/" not in main_of(page) and "/edit/" not in main_of(page)
    refused = client.post(url("do_memory", mara, entry.id, "forget"))
    assert refused.status_code == 403
    assert "memory_edit" in words(refused)
    assert mara.memory.journal.get(entry.id) == entry


def test_each_look_at_an_npc_is_logged_once_without_content(keeper, mara, alice, log):
    audit._looks.clear()
    told(mara, alice, "I keep the ferry at Millbrook.")
    for page in (*PAGES, "journal"):
        keeper.get(url(page, mara), {"q": "ferry", "text": "ferry"})
    keeper.get(url("memory", mara, 1))
    keeper.get(url("edit", mara, 1))
    looks = [line for line in log if "look" in line]
    assert [f"the page {page} " in line for page, line in zip(PAGES, looks, strict=False)] == (
        [True] * len(PAGES)
    )
    assert len(looks) == len(PAGES) + 1, "the journal was looked at twice, one memory twice"
    assert all("Keeper" in line and mara.dbref in line for line in looks)
    assert "ferry" not in " ".join(log).lower()


def test_a_refused_look_is_not_logged(client, mara, log):
    audit._looks.clear()
    mara.locks.add("memory_look:false()")
    logged_in(client, "Builder", builder=True)
    client.get(url("journal", mara))
    assert [line for line in log if "look" in line] == []


def policy_of(response):
    """The directives of a Content-Security-Policy, each with its sources."""
    told = response["Content-Security-Policy"].split("; ")
    return {name: sources for name, *sources in (each.split(" ") for each in told)}


def assert_protected(response):
    policy = policy_of(response)
    assert policy["default-src"] == ["'none'"]
    assert "'unsafe-inline'" not in str(policy) and "'unsafe-eval'" not in str(policy)
    assert policy["frame-ancestors"] == policy["base-uri"] == ["'none'"]
    assert response["X-Frame-Options"] == "DENY"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "same-origin"
    assert "no-store" in response["Cache-Control"] and "private" in response["Cache-Control"]


def test_every_page_has_security_headers_and_forbids_caching(keeper, mara, alice):
    [entry] = told(mara, alice, "I keep the ferry.")
    identity = mara.get_memory_identity(alice)
    addresses = [
        *("/memory/", "/memory/settings/", "/memory/99999/"),
        *(url(page, mara) for page in PAGES),
        *(
            url("person", mara, identity),
            url("memory", mara, entry.id),
            url("edit", mara, entry.id),
        ),
        *(url("do", mara, "pause"), url("do", mara, "explode"), url("memory", mara, "ffff")),
        url("do_memory", mara, entry.id, "forget"),
    ]
    for address in addresses:
        assert_protected(keeper.get(address))
    assert_protected(keeper.post(url("do", mara, "undo")))
    assert_protected(keeper.put(url("journal", mara)))


def test_refusals_have_the_security_headers_too(client, mara, tavern):
    assert_protected(client.get(url("journal", mara)))
    assert_protected(logged_in(client, "Wanda").get(url("journal", mara)))


def test_the_policy_allows_only_the_urls_of_evennias_base_template(keeper, mara):
    page = keeper.get(url("graph", mara))
    policy, text = policy_of(page), page.content.decode()
    named = set(re.findall(r'<script[^>]* src="(https:[^"]*)"', text))
    assert named == {each for each in policy["script-src"] if each != "'self'"} != set()
    sheets = set(re.findall(r'<link[^>]*stylesheet"[^>]* href="(https:[^"]*)"', text)) - set(
        re.findall(r'<!--link[^>]* href="(https:[^"]*)"', text)
    )
    assert sheets == {each for each in policy["style-src"] if each.startswith("https:")}


def test_the_policy_follows_a_games_own_base_template(tmp_path, settings):
    """Addresses of its template, and hashes of what stands in it; nothing that Django fills in."""
    (tmp_path / "website").mkdir()
    (tmp_path / "website" / "base.html").write_text(
        '<link rel="stylesheet" href="https://cdn.example/look.css?v=2">'
        "<script>let a = 1;</script><script>let name = '{{ account }}';</script>"
        '<!-- <script src="https://old.example/a.js"></script> -->'
        '<script src="https://evil.example/x.js; script-src *"></script>'
    )
    [engine] = settings.TEMPLATES
    settings.TEMPLATES = [engine | {"DIRS": [str(tmp_path)], "NAME": "django"}]
    headers.page_policy.cache_clear()
    try:
        policy = headers.page_policy()
    finally:
        headers.page_policy.cache_clear()
    assert " https://cdn.example/look.css" in policy
    assert "'sha256-xY6QKfH9PRsQnLz56nj6MBwiK5oHg+im1Jkpdp1x/Ck='" in policy
    assert "example/a.js" not in policy and "evil" not in policy
