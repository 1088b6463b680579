"""The pages in a real browser on a real server, as staff, as a player and as nobody."""

from __future__ import annotations

import re
import time

import pytest

pytestmark = pytest.mark.live

PAGES = ("", "journal/", "facts/", "search/", "people/", "graph/", "nights/", "charts/", "prompt/")
HOSTILE = """<script>document.title="taken"</script><img src=x onerror='document.title="taken"'>"""


# --- what a stranger gets -------------------------------------------------------------------------


@pytest.mark.parametrize("page", ("/memory/", *("{npc}" + page for page in PAGES)))
def test_nobody_gets_the_login_page_instead_of_any_page(page, nobody):
    nobody.go(page)
    assert "/auth/login/" in nobody.window.current_url
    assert "ferry" not in nobody.window.page_source


@pytest.mark.parametrize("page", ("/memory/", "/memory/settings/", "{npc}", "{npc}journal/"))
def test_a_player_is_told_that_it_is_for_the_staff(page, stranger):
    text = stranger.go(page).text
    assert "These pages are for the staff of the game." in text
    assert "Mara" not in text and "ferry" not in text


def test_a_player_cannot_tell_an_npc_from_none(stranger):
    there = stranger.go("{npc}").css("main")[0].text
    assert stranger.go("/memory/99999/").css("main")[0].text == there


# --- looking --------------------------------------------------------------------------------------


def test_staff_come_from_the_menu_to_the_list_to_an_npc(staff):
    staff.go("/").css("nav a[href='/memory/']")[0].click()
    assert "All NPCs with a memory" in staff.text
    staff.click("Mara")
    assert "Journal entries" in staff.text
    assert staff.css(".tabs a[aria-current]")[0].text == "Overview"


@pytest.mark.parametrize("page", PAGES)
def test_every_page_shows_something_and_its_scripts_complain_of_nothing(page, staff):
    staff.window.get_log("browser")
    staff.go("{npc}" + page)
    assert "Mara" in staff.css("h1")[0].text
    assert staff.faults() == []


GAME_PAGES = ("/memory/search/?q=ferry", "/memory/log/", "/memory/requests/", "/memory/settings/")
FORMS = ("add/", "teach/", "schedule/", "export/", "import/", "erase/log:Alice/")
OTHER_PAGES = (
    *("/memory/", "/memory/99999/", "{npc}people/log:Alice/", *GAME_PAGES),
    *("{npc}" + page for page in FORMS),
    *("{npc}m/1/", "{npc}m/1/edit/", "{npc}m/1/do/forget/", "{npc}do/sleep/"),
)


@pytest.mark.parametrize("page", OTHER_PAGES)
def test_the_content_security_policy_takes_nothing_from_a_page(page, staff):
    staff.window.get_log("browser")
    staff.go(page)
    assert staff.css("main h1")
    assert [each for each in staff.faults() if "99999" not in each] == []


INJECTED = """
const text = document.createElement("div");
text.innerHTML = "<img src=x onerror='document.title=\\"taken\\"'><a href='javascript:0'>x</a>";
document.body.append(text);
const script = document.createElement("script");
script.textContent = "document.title='taken'";
document.body.append(script);
"""


def test_what_slipped_into_a_page_as_html_would_not_run(staff):
    staff.go("{npc}journal/").script(INJECTED)
    time.sleep(0.5)
    assert "taken" not in staff.window.title
    refused = " ".join(staff.faults())
    assert "Content Security Policy" in refused


def test_the_journal_is_filtered_and_a_line_opens(staff):
    staff.go("{npc}journal/").fill(text="lantern in a hand")
    assert len(staff.css(".entry")) == 1
    staff.css(".entry .meta a")[0].click()
    assert "It moved like a lantern in a hand." in staff.text
    assert "Derived memories" in staff.text


def test_a_search_shows_its_parts(staff):
    staff.go("{npc}search/").fill(q="Who made the chain for the ferry?")
    first = staff.css("tbody tr")[0].text
    assert "chain for the ferry" in first and "similarity 0." in first


def test_a_person_has_a_chart_of_the_relationship(staff):
    staff.go("{npc}people/").click("Alice")
    assert "Relationship over time" in staff.text
    assert len(staff.css("figure svg rect")) > 1
    assert "preference" in staff.text.lower()


def test_the_journal_is_paged_to_and_fro(staff, pictures):
    staff.go("{npc}journal/")
    assert len(staff.css(".entry")) <= 50
    shown = [each.get_attribute("id") for each in staff.css(".entry")]
    oldest = int(shown[-1][1:])
    staff.go(f"{{npc}}journal/?b={oldest + 5}")
    assert staff.css(".entry")[0].get_attribute("id") == f"e{oldest + 4}"
    staff.click("← Newer")
    assert [each.get_attribute("id") for each in staff.css(".entry")] == shown


# --- the graph ------------------------------------------------------------------------------------


def test_the_graph_is_drawn_and_a_click_on_a_memory_tells_it_and_leads_there(staff, pictures):
    staff.go("{npc}graph/")
    pictures.rested(staff.window)
    drawn = staff.script("return document.getElementById('graph').graph.graphData().nodes.length")
    assert drawn == len(
        staff.script("return JSON.parse(document.getElementById('graph-data').textContent).nodes")
    )
    x, y, text = staff.script(NODE_ON_SCREEN)
    _press(staff, x, y, x, y)
    assert text[:40] in staff.css("#graph-chosen")[0].text
    link = staff.css("#graph-chosen a")[0]
    link.click()
    assert text[:40] in staff.text and "Links" in staff.text


def test_a_memory_of_the_graph_can_be_dragged_and_the_view_zoomed(staff, pictures):
    staff.go("{npc}graph/")
    pictures.rested(staff.window)
    x, y, _text = staff.script(NODE_ON_SCREEN)
    before = staff.script(FIRST_NODE)
    _press(staff, x, y, x + 60, y + 40)
    after = staff.script(FIRST_NODE)
    assert abs(after[0] - before[0]) > 5 and abs(after[1] - before[1]) > 5
    zoom = "return document.getElementById('graph').graph.zoom()"
    first = staff.script(zoom)
    _wheel(staff, x, y, -400)
    time.sleep(0.5)
    assert staff.script(zoom) > first


NODE_ON_SCREEN = """
const box = document.getElementById("graph"), graph = box.graph;
box.scrollIntoView({block: "center"});
const node = graph.graphData().nodes[0], place = graph.graph2ScreenCoords(node.x, node.y);
const frame = box.getBoundingClientRect();
return [frame.left + place.x, frame.top + place.y, node.text];
"""
FIRST_NODE = """
const node = document.getElementById("graph").graph.graphData().nodes[0];
return [node.x, node.y];
"""


def _mouse(visit, kind, x, y, **more):
    visit.window.execute_cdp_cmd(
        "Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "left", **more}
    )


def _press(visit, x, y, to_x, to_y):
    _mouse(visit, "mouseMoved", x, y)
    time.sleep(0.3)  # what is under the pointer is looked up between two frames
    _mouse(visit, "mousePressed", x, y, clickCount=1)
    for step in range(1, 6):
        if (to_x, to_y) != (x, y):
            _mouse(
                visit, "mouseMoved", x + (to_x - x) * step / 5, y + (to_y - y) * step / 5, buttons=1
            )
            time.sleep(0.05)
    _mouse(visit, "mouseReleased", to_x, to_y, clickCount=1)
    time.sleep(0.3)


def _wheel(visit, x, y, delta):
    _mouse(visit, "mouseWheel", x, y, deltaX=0, deltaY=delta)


def test_memories_are_found_in_the_graph_and_enter_goes_from_one_to_the_next(staff, pictures):
    from selenium.webdriver.common.keys import Keys

    staff.go("{npc}graph/")
    pictures.rested(staff.window)
    box, told = staff.css("#graph-find")[0], staff.css("#graph-found")[0]
    before = told.text
    assert "Facts and experiences come before journal lines" in before
    box.send_keys("FERRY chain")
    count = int(told.text.split()[0])
    assert count >= 1 and "found" in told.text
    box.send_keys(Keys.ENTER)
    assert told.text == f"1 of {count}."
    chosen = staff.css("#graph-chosen")[0].text.lower()
    assert "ferry" in chosen and "chain" in chosen and "Open" in staff.css("#graph-chosen")[0].text
    box.send_keys("zzz")
    assert "No memory in the graph" in told.text
    for _ in range(20):
        box.send_keys(Keys.BACKSPACE)
    assert told.text == before


def test_the_graph_shows_the_kinds_that_are_ticked(staff):
    staff.go("{npc}graph/")
    staff.css("input[name=kind][value=entry]")[0].click()
    staff.click("Show")
    kinds = staff.script(
        "return JSON.parse(document.getElementById('graph-data').textContent)"
        ".nodes.map((node) => node.record)"
    )
    assert "fact" in kinds and "entry" not in kinds


TWO_THOUSAND = """
const done = arguments[arguments.length - 1];
const graph = document.getElementById("graph").graph;
const nodes = [...Array(2000)].map((_, id) => (
  {id, name: "n" + id, text: "memory " + id, record: "fact", importance: 0.5, url: "#"}));
const links = [...Array(5000)].map((_, n) => (
  {source: (n * 7919) % 2000, target: (n * 104729 + 1) % 2000, score: 0.6, kind: "similar"}));
graph.graphData({nodes, links});
let frames = 0, slowest = 0, last = performance.now();
const started = last;
(function frame(now) {
  frames += 1; slowest = Math.max(slowest, now - last); last = now;
  if (now - started < 3000) requestAnimationFrame(frame); else done([frames, slowest]);
})(last);
"""


def test_two_thousand_memories_still_move(staff, pictures):
    staff.go("{npc}graph/")
    pictures.rested(staff.window)
    staff.window.set_script_timeout(60)
    frames, slowest = staff.window.execute_async_script(TWO_THOUSAND)
    assert frames >= 9, f"{frames} frames in 3 s, the slowest {slowest:.0f} ms, without a GPU"


# --- by keyboard, on a phone, without a network ---------------------------------------------------


def test_the_pages_are_walked_by_keyboard_and_the_focus_is_seen(staff):
    from selenium.webdriver.common.keys import Keys

    staff.go("{npc}journal/")
    body = staff.css("body")[0]
    body.send_keys(Keys.TAB)
    skip = staff.script("return document.activeElement.textContent")
    assert "Skip to main content" in skip
    staff.script("document.querySelector('.tabs a').focus()")
    active = staff.window.switch_to.active_element
    active.send_keys(Keys.TAB)
    name, style = staff.script(
        "const e = document.activeElement;return [e.textContent, getComputedStyle(e).outlineStyle];"
    )
    assert name == "Journal" and style == "solid"
    staff.window.switch_to.active_element.send_keys(Keys.TAB)
    staff.window.switch_to.active_element.send_keys(Keys.ENTER)
    assert "/facts/" in staff.window.current_url


@pytest.mark.parametrize(
    "page", ("/memory/", "{npc}m/1/", *GAME_PAGES, *("{npc}" + page for page in (*PAGES, *FORMS)))
)
def test_on_a_phone_nothing_sticks_out_sideways(page, staff):
    from world.browser import DESKTOP, PHONE, resize

    try:
        resize(staff.window, PHONE)
        staff.go(page)
        wide, room = staff.script(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert wide <= room, f"{wide} px in {room}"
    finally:
        resize(staff.window, DESKTOP)


CONTRAST = """
function parts(colour) { return colour.match(/[\\d.]+/g).map(Number); }
function light([r, g, b]) {
  const [x, y, z] = [r, g, b].map((c) => c / 255).map(
    (c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
}
function paper(element) {
  for (; element; element = element.parentElement) {
    const found = parts(getComputedStyle(element).backgroundColor);
    if (found.length === 3 || found[3] > 0) return found;
  }
  return [255, 255, 255];
}
const bad = [];
for (const element of document.querySelectorAll("main *")) {
  if (element.closest("svg, select, meter, script") || !element.offsetParent) continue;
  const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own) continue;
  const style = getComputedStyle(element);
  const [a, b] = [light(parts(style.color)), light(paper(element))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const what = element.className + ": " + element.textContent.slice(0, 30);
  if (ratio < 4.5) bad.push(what + " " + ratio.toFixed(2));
}
return bad;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out_from_its_paper(scheme, staff):
    feature = [{"name": "prefers-color-scheme", "value": scheme}]
    try:
        staff.window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": feature})
        for page in (
            "/memory/",
            *("{npc}" + page for page in PAGES),
            "{npc}m/9/",
            "{npc}m/9/do/forget/",
            *GAME_PAGES,
            *("{npc}" + page for page in FORMS),
        ):
            assert staff.go(page).script(CONTRAST) == [], page
    finally:
        staff.window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


# --- doing ----------------------------------------------------------------------------------------


def test_a_memory_is_edited_and_the_edit_undone(staff):
    staff.go("{npc}m/3/").click("Edit")
    staff.fill(id_content="Bram is the smith, and keeps bees.")
    assert "is changed. You can undo this." in staff.text and "keeps bees" in staff.text
    found = staff.go("{npc}search/").fill(q="Who keeps bees?").css("tbody tr")[0].text
    assert "keeps bees" in found
    staff.go("{npc}").click("Undo last change")
    assert "edit 3 by keeper" in staff.text
    staff.click("Undo last change")
    assert "Undone" in staff.text
    assert "My forge stands behind the mill." in staff.go("{npc}m/3/").text


def test_hostile_text_put_in_by_an_edit_stays_text(staff):
    staff.go("{npc}m/5/").click("Edit")
    staff.fill(id_content=HOSTILE + " |rred $eval(1) </memory>")
    for page in (
        "{npc}m/5/",
        "{npc}journal/?text=onerror",
        "{npc}search/?q=onerror",
        "{npc}graph/",
    ):
        staff.go(page)
        time.sleep(0.3)
        assert "taken" not in staff.window.title, page
    assert "onerror" in staff.go("{npc}m/5/").text
    staff.go("{npc}").click("Undo last change").click("Undo last change")


def test_a_memory_is_pinned_with_one_click(staff):
    staff.go("{npc}m/6/").click("Pin")
    assert "pinned" in staff.css(".badge.kept")[-1].text
    staff.click("Unpin")
    assert "is no longer pinned" in staff.text


def test_forgetting_asks_and_can_be_declined_and_done(staff, game):
    staff.go("{npc}m/4/").click("Forget with everything derived from it")
    assert re.search(r"\(1 journal entry, 1 experience", staff.text), staff.text
    staff.click("Cancel")
    assert "My brother Tom bakes the bread" in staff.text
    for _page in ("of the memory", "of the confirmation"):
        staff.click("Forget with everything derived from it")
    assert "has forgotten 1 journal entry" in staff.text
    assert "Not found" in staff.go("{npc}m/4/").text
    assert "bakes the bread" not in staff.go("{npc}experiences/?text=bread").css("main")[0].text
    log = (game.folder / "server" / "logs" / "server.log").read_text()
    assert re.search(r"AI memory: keeper \(#1\): forget with all from it Mara \(#\d+\): 4", log)


def test_rows_are_selected_counted_and_not_forgotten_without_a_confirmation(staff):
    staff.go("{npc}facts/")
    button, count = staff.css(".selection button")[0], staff.css("#selected")[0]
    boxes = staff.css("input[name=id]")
    assert not button.is_enabled() and count.text == f"0 of {len(boxes)} selected"
    staff.css("#select-all")[0].click()
    assert all(box.is_selected() for box in boxes) and button.is_enabled()
    boxes[0].click()
    assert count.text == f"{len(boxes) - 1} of {len(boxes)} selected"
    assert staff.script("return document.getElementById('select-all').indeterminate")
    staff.click("Forget selected …")
    assert f"Forget {len(boxes) - 1} memories?" in staff.text
    staff.click("Cancel")
    assert len(staff.css("input[name=id]")) == len(boxes)


def test_two_lines_are_forgotten_at_once_and_come_back_by_one_undo(staff):
    staff.go("{npc}journal/?text=ferry&kind=say")
    ids = [box.get_attribute("value") for box in staff.css("input[name=id]")[:2]]
    for box in staff.css("input[name=id]")[:2]:
        box.click()
    staff.click("Forget selected …").click("Forget these")
    assert "has forgotten 2 journal entries" in staff.text
    assert "/journal/?text=ferry" in staff.window.current_url
    assert "Not found" in staff.go(f"{{npc}}m/{ids[0]}/").text
    newest = staff.go("/memory/log/").css("tbody tr")[0].text
    assert "keeper" in newest and "forget" in newest and ids[0] in newest
    staff.go("{npc}").click("Undo last change").click("Undo last change")
    assert "Not found" not in staff.go(f"{{npc}}m/{ids[0]}/").text


def test_a_memory_is_added_on_its_form_and_taken_back(staff):
    staff.go("{npc}").click("Add a memory").fill(id_text="The cellar floods in spring.")
    assert "Mara will remember that" in staff.text
    assert "cellar floods" in staff.go("{npc}search/?q=Does+the+cellar+flood").text
    staff.go("{npc}").click("Undo last change").click("Undo last change")


def test_an_export_is_made_while_its_page_waits(staff):
    staff.go("{npc}").click("Export").click("Export")
    deadline = time.monotonic() + 60
    while "Running since" in staff.text and time.monotonic() < deadline:
        time.sleep(0.5)  # the page reloads by itself
    assert re.search(r"Exported: \d+ journal entries", staff.text)
    link = staff.css("a.button.main")[0]
    assert link.text.startswith("Download Mara-")
    size = staff.window.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "fetch(arguments[0]).then((r) => r.text()).then((text) => done(text.length))",
        link.get_attribute("href"),
    )
    assert size > 10_000


def test_a_night_is_begun_watched_and_over(staff):
    staff.go("{npc}nights/").click("Run a full night now").click("Run a full night now")
    assert "Mara falls asleep." in staff.text
    deadline = time.monotonic() + 60
    while "Asleep" in staff.go("{npc}nights/").text and time.monotonic() < deadline:
        time.sleep(1)
    assert "Asleep" not in staff.text
    assert "drawing facts" in staff.text


def test_an_npc_is_sent_to_sleep_and_woken(staff):
    staff.go("{npc}").click("Send to sleep").click("Send to sleep")
    assert "Asleep" in staff.text
    staff.click("Wake up").click("Wake up")
    assert re.search(r"Mara (wakes up|is compacting and will wake)", staff.text)


# --- last: the server goes away under the pages ---------------------------------------------------


def test_a_reload_while_pages_are_asked_for_leaves_the_game_up(staff, game):
    import threading
    import urllib.error
    import urllib.request

    cookies = "; ".join(f"{c['name']}={c['value']}" for c in staff.window.get_cookies())
    url, over = f"{staff.base}{staff.npc}charts/", threading.Event()

    def ask() -> None:
        while not over.is_set():
            try:
                request = urllib.request.Request(url, headers={"Cookie": cookies})
                urllib.request.urlopen(request, timeout=0.05).read()  # and leaves before the end
            except (OSError, urllib.error.URLError):
                time.sleep(0.01)

    asking = [threading.Thread(target=ask) for _ in range(4)]
    for each in asking:
        each.start()
    started = time.monotonic()
    try:
        game.reload()
    finally:
        over.set()
        for each in asking:
            each.join()
    assert time.monotonic() - started < 60
    assert "Journal entries" in staff.go("{npc}").text
