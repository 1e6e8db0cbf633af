"""What a page complains of: errors in its console, exceptions, answers of 400 and above, and requests that leave the machine."""

import re
from urllib.parse import urlsplit

from playwright.sync_api import Page

# Pattern → why it may stand there. Anything else fails the test.
ALLOWED = {
    r"^exception: Cannot read properties of undefined \(reading 'schema'\) .*/notebook_core\.":
        "Notebook 7.6's own, at its start, when a setting changes that it has not loaded yet; no notebook of ours is open by then",
    r"^exception: Command 'filebrowser:open-path' not registered\. .*/notebook_core\.":
        "Notebook 7 restores what JupyterLab, which has a file browser, left open: only here do both run on one server",
    r"/static/notebook/\w+\.woff":
        "the same: the server remembers where JupyterLab's copy of this font lies, and then refuses it to Notebook 7",
    r"cdnjs\.cloudflare\.com|^exception: MathJax is not defined .*/formgrade\.js":
        "nbgrader's formgrader loads MathJax from there; our guide says what is missing without it",
}


class Console:
    """Notes all that goes wrong in a page. Requests to other machines are refused, with or without a network: `outside` names them."""

    def __init__(self, page: Page):
        self._noted: list[str] = []
        self.outside: set[str] = set()
        page.on("console", lambda said: self._noted.append(f"console: {said.text} ({said.location.get('url')})")
                if said.type == "error" else None)
        page.on("pageerror", lambda error: self._noted.append(f"exception: {error} {' '.join((error.stack or '').split())}"))
        page.on("response", lambda answer: self._noted.append(f"{answer.status}: {answer.request.method} {answer.url}")
                if answer.status >= 400 else None)
        page.route(lambda url: urlsplit(url).scheme in ("http", "https") and urlsplit(url).hostname != "127.0.0.1", self._refuse)

    def _refuse(self, route) -> None:
        self.outside.add(route.request.url)
        self._noted.append(f"leaves the machine: {route.request.url}")
        route.abort()

    @property
    def faults(self) -> list[str]:
        return [noted for noted in self._noted if not any(re.search(pattern, noted) for pattern in ALLOWED)]
