"""axe-core on a part of a page."""

from playwright.sync_api import Page

from tests.needs import axe

GRAVE = ("serious", "critical")


def violations(page: Page, scope: str) -> list[str]:
    """What axe finds wrong, serious or critical, in the parts of the page that `scope`, a CSS selector, names."""
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(axe())
    found = page.evaluate("scope => axe.run({include: [scope]}, {resultTypes: ['violations']})", scope)
    return [f"{rule['impact']}: {rule['id']}: {rule['help']}: {node['html'][:200]} {node['failureSummary']}"
            for rule in found["violations"] if rule["impact"] in GRAVE for node in rule["nodes"]]


def assert_accessible(page: Page, scope: str) -> None:
    assert page.locator(scope).count(), f"nothing in the page is {scope}"
    found = violations(page, scope)
    assert not found, "\n".join(found)
