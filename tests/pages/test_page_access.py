"""Who may open the staff pages, what the log says of it, and their security headers."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from page_visits import PAGES, logged_in, main_of, told, url, words

from contrib_ai_memory.admin import access
from contrib_ai_memory.web import headers


@pytest.mark.parametrize("page", PAGES)
def test_who_is_not_logged_in_gets_the_login_page_and_nothing_of_the_npc(page, client, mara):
    there = client.get(url(page, mara))
    assert there.status_code == 302
    assert there["Location"].startswith("/auth/login/?next=")


@pytest.mark.parametrize("page", PAGES)
def test_a_player_gets_the_same_refusal_whether_an_npc_is_there_or_not(page, client, mara):
    logged_in(client, "Player")
    there = client.get(url(page, mara))
    nobody = client.get(url(page, mara).replace(f"/{mara.id}/", "/99999/"))
    assert there.status_code == nobody.status_code == 403
    assert main_of(there) == main_of(nobody)
    assert "Mara" not in main_of(there)


def test_a_player_may_neither_list_nor_do_anything(client, mara, alice):
    [entry] = told(mara, alice, "I keep the ferry at Millbrook.")
    logged_in(client, "Player")
    assert client.get(reverse("ai_memory:npcs")).status_code == 403
    assert client.get(reverse("ai_memory:settings")).status_code == 403
    forget = url("do_memory", mara, entry.id, "forget")
    assert client.post(forget).status_code == 403
    assert client.post(url("edit", mara, entry.id), {"content": "No."}).status_code == 403
    assert mara.memory.journal.get(entry.id) == entry


@pytest.mark.parametrize("rank", ["builder", "is_staff", "is_superuser"])
def test_staff_and_builders_are_let_in(rank, client, mara):
    logged_in(client, "Somebody", **{rank: True})
    for page in PAGES:
        assert client.get(url(page, mara)).status_code == 200, page


def test_an_npc_with_a_lock_is_not_there_for_whom_it_keeps_out(client, mara):
    mara.locks.add("memory_look:false()")
    logged_in(client, "Builder", builder=True)
    assert url("overview", mara) not in main_of(client.get(reverse("ai_memory:npcs")))
    locked, nobody = client.get(url("journal", mara)), client.get("/memory/99999/journal/")
    assert locked.status_code == nobody.status_code == 404
    assert main_of(locked) == main_of(nobody)


def test_who_may_look_only_sees_no_buttons_and_can_change_nothing(client, mara, alice):
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


def test_a_look_at_an_npc_is_one_line_in_the_log_and_not_of_what_it_remembers(
    keeper, mara, alice, log
):
    access._looks.clear()
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


def test_who_is_kept_out_leaves_no_line_of_a_look(client, mara, log):
    access._looks.clear()
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


def test_every_page_has_its_security_headers_and_is_kept_in_no_cache(keeper, mara, alice):
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


def test_who_is_sent_away_gets_the_headers_too(client, mara, tavern):
    assert_protected(client.get(url("journal", mara)))
    assert_protected(logged_in(client, "Wanda").get(url("journal", mara)))


def test_the_policy_lets_in_what_evennias_base_page_names_and_nothing_else(keeper, mara):
    page = keeper.get(url("graph", mara))
    policy, text = policy_of(page), page.content.decode()
    named = set(re.findall(r'<script[^>]* src="(https:[^"]*)"', text))
    assert named == {each for each in policy["script-src"] if each != "'self'"} != set()
    sheets = set(re.findall(r'<link[^>]*stylesheet"[^>]* href="(https:[^"]*)"', text)) - set(
        re.findall(r'<!--link[^>]* href="(https:[^"]*)"', text)
    )
    assert sheets == {each for each in policy["style-src"] if each.startswith("https:")}


def test_a_game_with_a_look_of_its_own_has_a_policy_for_it(tmp_path, settings):
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
