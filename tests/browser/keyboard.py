"""The controls of a panel, each kind moved by the keys that its users know."""

from playwright.sync_api import Locator, Page
from playwright.sync_api import TimeoutError as PageTimeout

from tests.browser.jupyter import PATIENCE

PICTURE_CHANGED = "([picture, src]) => !picture.isConnected || picture.src !== src"
PANELS = ".jp-CodeCell:has(.advantagelab-panel)"


def move_every_kind_of_control(page: Page, panel: Locator) -> None:
    """The first slider, dropdown, group of buttons and checkbox of a panel."""
    if panel.locator(".noUi-handle").count():
        slider = panel.locator(".noUi-handle").first
        at_its_end = slider.get_attribute("aria-valuenow") == slider.get_attribute("aria-valuemax")
        # Some sliders are held back by others, as the votes of a full group are: then it can be lowered.
        _press(page, panel, slider, *(["ArrowLeft"] if at_its_end else ["ArrowRight", "ArrowLeft"]))
    if panel.locator("select").count():
        dropdown = panel.locator("select").first
        _press(page, panel, dropdown, "ArrowUp" if dropdown.evaluate("select => select.selectedIndex") else "ArrowDown")
    if panel.locator(".widget-toggle-button").count():
        _press(page, panel, panel.locator(".widget-toggle-button:not(.mod-active)").first, "Enter")
    if panel.locator("input[type=checkbox]").count():
        _press(page, panel, panel.locator("input[type=checkbox]").first, "Space")


def _press(page: Page, panel: Locator, control: Locator, key: str, *other: str) -> None:
    """Changes the picture, and the words for those who cannot see it."""
    picture = panel.locator(".advantagelab-panel img")
    before = picture.get_attribute("src"), picture.get_attribute("alt")
    control.scroll_into_view_if_needed()
    control.focus()
    page.keyboard.press(key)
    try:
        page.wait_for_function(PICTURE_CHANGED, arg=[picture.element_handle(), before[0]], timeout=5_000 if other else PATIENCE)
    except PageTimeout:
        if not other:
            raise
        return _press(page, panel, control, *other)
    assert picture.get_attribute("src") != before[0] and picture.get_attribute("alt") != before[1]
