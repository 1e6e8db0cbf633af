"""What ipywidgets leaves out for those who use a panel without a mouse, or without seeing it: done in the page, by a few lines there."""

import html

import ipywidgets as W

# A slider's handle gets its label for a name. Arrows, Enter and Space go to the control that has the focus: Notebook 7 takes the arrows for
# its own before a slider sees them, JupyterLab too before a dropdown does; both (that is, Lumino) pass over what is marked.
# A <style> reports when it enters the page; a <script> that arrives as a widget's value is never run.
SCRIPT = """
const panel = this.closest('.advantagelab-panel');
const name = () => panel.querySelectorAll('.noUi-handle:not([aria-label])').forEach(handle =>
  handle.setAttribute('aria-label', handle.closest('.widget-slider').querySelector('.widget-label').textContent));
name();
new MutationObserver(name).observe(panel, {childList: true, subtree: true});
window.advantagelabKeys = window.advantagelabKeys || [window.addEventListener('keydown', event => {
  if (event.target.closest('.advantagelab-panel'))
    event.target.toggleAttribute('data-lm-suppress-shortcuts', /^(Arrow.*|Enter| )$/.test(event.key));
}, true)];
"""


def accessible(panel: W.VBox) -> W.VBox:
    """Where scripts are not run, the panel stays as ipywidgets makes it."""
    panel.add_class("advantagelab-panel")
    panel.children += (W.HTML(f'<style onload="{html.escape(SCRIPT)}"></style>', layout=W.Layout(display="none")),)
    return panel
