"""Package structure: import order, unique names, and imports without side effects."""

import ast
import os
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "contrib_ai_memory"

# low to high (DESIGN §2); rooms of one step do not import one another
STEPS = [
    {"text", "errors"},
    {"conf", "privacy", "local_time", "log", "atomic_file", "mem0_environment"},
    {"language"},
    {"records"},
    {"offload", "attention", "answer_queue"},
    {"embedding"},
    {"llm"},
    {"store"},
    {"ingest", "memory_process", "hearing_queue"},
    {"recall"},
    {"sleep"},
    {"handler"},
    {"deletion", "store_opening"},
    {"script"},
    {"npc", "assistant"},
    {"llmnpc", "start"},
    {"admin", "preflight"},
    {"commands", "web", "management", "apps"},
    {"english", "offline"},  # the default language, which the setting LANGUAGE names
]
ENGLISH = frozenset({"english", "offline"})  # one room


def step_of(module: str) -> int:
    for level, rooms in enumerate(STEPS):
        if any(module == room or module.startswith(room + ".") for room in rooms):
            return level
    raise AssertionError(f"{module} has no place in the order of rooms")


def room_of(module: str) -> str:
    room = module.partition(".")[0]
    return "english" if room in ENGLISH else room


def _run(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module but those that only type checkers see."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from _run(node)


@cache
def modules() -> dict[str, Path]:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imported_by(name: str, path: Path) -> set[str]:
    here = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    targets = set()
    for node in _run(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = here[: len(here) - node.level + 1] if node.level > 1 else here
            if node.module:
                targets.add(".".join([*base, node.module]))
            targets |= {".".join([*base, *filter(None, [node.module]), a.name]) for a in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE.name):
            module = node.module.removeprefix(PACKAGE.name).strip(".")
            targets |= {".".join(filter(None, [module, alias.name])) for alias in node.names}
    return {t for t in targets if t in modules()}


def test_every_module_imports_only_from_below_or_from_its_own_room():
    wrong = []
    for name, path in modules().items():
        if name in (
            "__init__",
            "ingest",
            "store",
            "recall",
            "sleep",
            "llm",
            "embedding",
            "admin",
            "web",
        ):
            continue
        for target in imported_by(name, path):
            if "." not in target and modules()[target].name == "__init__.py":
                continue  # the room itself; what is taken from it is listed apart
            if room_of(name) != room_of(target) and step_of(target) >= step_of(name):
                wrong.append(f"{name} imports {target}")
    assert wrong == []


def test_there_is_no_import_cycle():
    graph = {name: imported_by(name, path) - {name} for name, path in modules().items()}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join([*trail, name])
        if name not in done:
            for target in graph[name]:
                visit(target, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_nothing_but_the_language_itself_imports_english():
    wrong = [
        f"{name} imports {target}"
        for name, path in modules().items()
        if room_of(name) != "english"
        for target in imported_by(name, path)
        if room_of(target) == "english"
    ]
    assert wrong == []


def test_one_module_ends_memories_and_takes_endings_back():
    ending = {"superseded_by", "invalid_at"}
    wrong = [
        f"{name}:{node.lineno}"
        for name, path in modules().items()
        if name != "ingest.endings"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in ("change", "replace", "update")
        and not ending.isdisjoint(word.arg for word in node.keywords)
    ]
    assert wrong == []


def several(places: dict[str, list[str]]) -> list[str]:
    return [f"{name}: {', '.join(sorted(at))}" for name, at in sorted(places.items()) if at[1:]]


def test_no_two_modules_have_one_name():
    places = defaultdict(list)
    for name, path in modules().items():
        if path.name != "__init__.py":
            places[path.stem].append(name)
    assert several(places) == []


def test_no_two_public_classes_have_one_name():
    places = defaultdict(list)
    for name, path in modules().items():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    assert several(places) == []


IMPORT_ALL = """
import socket, sys
reached = []
def refuse(*where, **more):
    reached.append(where[:2])
    raise OSError("no network at import")
socket.socket.connect = refuse
socket.getaddrinfo = refuse
import django, evennia
django.setup()
evennia._init()
from contrib_ai_memory import AIMemoryCmdSet, AssistantScript, MemoryHandler, MemoryMixin
heavy = {"torch", "onnxruntime", "mem0", "openai", "qdrant_edge"} & set(sys.modules)
print("reached:", reached)
print("heavy:", sorted(heavy))
"""


def test_importing_it_reaches_no_network_and_loads_nothing_heavy(settings):
    run = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL],
        cwd=settings.GAME_DIR,
        env=os.environ | {"PYTHONPATH": settings.GAME_DIR},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.splitlines()[-2:] == ["reached: []", "heavy: []"], run.stderr


def test_every_data_file_is_installed_with_the_package():
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["contrib_ai_memory"]
    installed = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    data = {
        path
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc", ".pyi")
    }
    assert data and data <= installed
