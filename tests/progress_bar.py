"""A progress bar in place of pytest's dots, for tests that are spread over several processes."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from tqdm import tqdm

SECONDS = 0.5 if sys.stderr.isatty() else 30.0  # between two lines of a log
QUIET = ("passed", "skipped", "failed", "error")


class ProgressBar:
    """A plugin of the process that hands out the tests."""

    def __init__(self) -> None:
        self._bar = tqdm(unit="test", mininterval=SECONDS, dynamic_ncols=True)

    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Set how many there are: each process has found all of them."""
        self._bar.reset(total=len(ids))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> Any:
        """Count an outcome without its dot."""
        status = yield
        return (status[0], "", "") if status[0] in QUIET else status

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count a test that is over; say at once which one failed."""
        if report.failed:
            self._bar.write(f"FAILED {report.nodeid} ({report.when})", file=sys.stderr)
        if report.when == "teardown":
            self._bar.update()

    def pytest_sessionfinish(self) -> None:
        self._bar.close()
