"""HTML that changes under its readers' eyes and leaves them where they are."""

from __future__ import annotations

from nicegui import ui


class Renewed(ui.element, component="renewed.js"):
    """Some HTML of which a browser renews what has changed, and nothing else.

    So scrolled regions stay scrolled and what has the focus keeps it. While somebody has marked
    text in it, it waits until nothing in it is marked any more.
    """

    def __init__(self, content: str = "") -> None:
        super().__init__()
        self._props["content"] = content

    @property
    def content(self) -> str:
        """What is to be shown."""
        return str(self._props["content"])

    def set_content(self, content: str) -> None:
        """Show something else from now on."""
        if content != self.content:
            self._props["content"] = content
            self.update()
