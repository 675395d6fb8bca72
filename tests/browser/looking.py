"""One browser window: what it shows, and what it must never do."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from lacking import lacking


def axe_there() -> Any:
    """Return what looks for barriers in a page."""
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        lacking("axe is missing: pip install 'penstock[browser-tests]'")
    return Axe()


class Look:
    """A page that is watched from its first request on.

    Whatever a test is about: no error in the console, no request to another host, no dialog.
    ``allowed`` are beginnings of console errors that a test provokes.
    """

    def __init__(self, context: Any, address: str) -> None:
        self.context, self.address = context, address
        self.errors: list[str] = []
        self.elsewhere: list[str] = []
        self.dialogs: list[str] = []
        self.requests = 0
        self.allowed: tuple[str, ...] = ()
        self.page = context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.errors.append(f"page: {error}"))
        self.page.on("dialog", self._dialog)
        self.page.on("request", lambda request: self._request(request.url))
        self.page.on("websocket", lambda socket: self._request(socket.url))
        self.page.set_default_timeout(60_000)

    def go(self, path: str = "/", *, is_site: bool = True) -> Any:
        """Open a page and wait until it is drawn and live."""
        answer = self.page.goto(f"{self.address}{path}")
        if is_site:
            self.page.wait_for_selector(".sections > *")
            self.page.wait_for_function("() => window.socket && window.socket.connected")
            self.drawn()
        return answer

    def drawn(self) -> None:
        """Wait until every chart has been drawn."""
        self.page.wait_for_function(
            "() => [...document.querySelectorAll('.nicegui-echart')]"
            ".every(each => each.querySelector('canvas, svg'))"
        )

    def text(self, where: str = "main") -> str:
        return str(self.page.inner_text(where))

    def tiles(self) -> dict[str, str]:
        """Return the numbers in tiles by what they are."""
        return dict(
            self.page.evaluate(
                "() => [...document.querySelectorAll('.tile')].map(each => "
                "[each.querySelector('dt').innerText, each.querySelector('.value').innerText])"
            )
        )

    def rows(self, *heads: str) -> list[list[str]]:
        """Return the rows of the one table whose first columns are called so."""
        (found,) = self.tables(*heads)
        return found

    def tables(self, *heads: str) -> list[list[list[str]]]:
        """Return the rows of every table whose first columns are called so."""
        tables = self.page.evaluate(
            "() => [...document.querySelectorAll('table')].map(table => "
            "[...table.rows].map(row => [...row.cells].map(cell => cell.innerText.trim())))"
        )
        return [each[1:] for each in tables if tuple(each[0][: len(heads)]) == heads]

    def check(self) -> None:
        """Say what went wrong behind the page, if anything did."""
        errors = [each for each in self.errors if not each.startswith(self.allowed or "\0")]
        assert not errors, errors
        assert not self.elsewhere, self.elsewhere
        assert not self.dialogs, self.dialogs
        assert self.requests > 0

    def _console(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(str(message.text))

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(str(dialog.message))
        dialog.dismiss()

    def _request(self, url: str) -> None:
        self.requests += 1
        place = urlsplit(url)
        if place.scheme not in ("data", "blob") and place.netloc != urlsplit(self.address).netloc:
            self.elsewhere.append(url)
