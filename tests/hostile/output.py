"""Scripts and signs in what a person will read: outputs, prose, formulas, pictures, errors, names; for formgrader, feedback, a terminal."""

import nbformat
from nbformat import NotebookNode

from .case import Attack

SCRIPT = "</pre></code></textarea><script>stolen()</script><img src=x onerror=stolen()>"
SIGNS = "\x1b[2J\x1b]0;stolen\x07\x1b[31m\u202e\u2066\x9b31m\u2028\x00"


def live_outputs(notebook: NotebookNode) -> None:
    """As if cells had shown HTML, scripts and widgets."""
    data = {"text/html": SCRIPT, "application/javascript": "stolen()", "image/svg+xml": "<svg onload=stolen()>", "text/latex": SCRIPT,
            "text/markdown": SCRIPT, "application/vnd.jupyter.widget-view+json": {"model_id": "x", "version_major": 2}}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [nbformat.v4.new_output("display_data", data=data),
                            nbformat.v4.new_output("error", ename="E", evalue="", traceback=[SCRIPT])]


def live_metadata(notebook: NotebookNode) -> None:
    notebook.metadata.update(title=SCRIPT, kernelspec={"name": '"><script>stolen()</script>', "display_name": SCRIPT},
                             language_info={"name": SCRIPT, "pygments_lexer": '"><script>'}, authors=[{"name": SCRIPT}])
    for cell in notebook.cells:
        cell.metadata.update(tags=['"><script>stolen()</script>', "hide_input"], name=SCRIPT, trusted=True)
    notebook.metadata.advantagelab.language = "en"


def live_attachments(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.attachments = {"a.png": {"image/png": '"><script>stolen()</script>'},
                                '"><script>stolen()</script>.png': {"image/png": "iVBORw0KGgo="},
                                "b.svg": {"image/svg+xml": "<svg onload=stolen()>"},
                                "c.html": {"text/html": SCRIPT}}


def own_cells(*sources: str):
    def edit(notebook: NotebookNode) -> None:
        for number, source in enumerate(sources):
            kind = nbformat.v4.new_raw_cell if number % 3 == 2 else nbformat.v4.new_markdown_cell
            notebook.cells.append(kind(source, id=f"note-{number}"))
    return edit


HTML = (SCRIPT, "<svg/onload=stolen()>", "<iframe srcdoc='<script>stolen()</script>'></iframe>", "<style>@import 'http://x/stolen()'</style>",
        "<base href='//evil.example/'>", "<meta http-equiv=refresh content='0;javascript:stolen()'>", "<details open ontoggle=stolen()>",
        "<form action=javascript:stolen()><button>Save", "<scr\x00ipt>stolen()</script>", "<!--><script>stolen()</script>",
        "&lt;script&gt;stolen()&lt;/script&gt; &#60;script>")
LINKS = ("[x](javascript:stolen())", "[x](&#106;avascript:stolen())", "[x][y]\n\n[y]: javascript:stolen()",
         "[x]\n\n[x]:\njavascript:stolen()",
         "[y]\\\n(javascript:stolen()) [z](<javascript:stolen()>)", "<javascript:stolen()>", "![p](attachment:a.png) ![x](http://evil.example/x.png)",
         "https://evil.example/login", "<https://evil.example>", "www.evil.example or http://evil.example and mailto:a@evil.example",
         "[^1]\n\n[^1]: [x](javascript:stolen())", "[![x](y)](data:text/html,stolen())")
FORMULAS = (r"$\href{javascript:stolen()}{click}$", r"$$\style{position:fixed;top:0;left:0;width:100%;height:100%}{x}$$",
            r"$\class{formgrade_points}{x}$", r"$\cssId{submit}{x}$", r"\\require{html} $\require{html}$", r"$\unicode{x3c}script$",
            "$$<script>stolen()</script>$$",
            r"\begin{x}<img src=x onerror=stolen()>\end{x}", "$`<img src=x onerror=stolen()>`$")
DIAGRAMS = ("```mermaid\nclick A href \"javascript:stolen()\"\n```", "``` {.mermaid}\n</pre><script>stolen()</script>\n```",
            "~~~ mermaid\n</pre><script>stolen()</script>\n~~~", "```x\" onclick=stolen()\n1\n```")

ATTACKS = [
    Attack("printed-scripts", "print a script, and name an error with one",
           cell=f"print({SCRIPT!r})\nraise type({SCRIPT!r}, (Exception,), {{}})({SCRIPT!r})"),
    Attack("todo-with-signs", "a TODO that says more than one line", cell="pass",
           answers={3: f"raise NotImplementedError('TODO 3' + {SIGNS!r} + {SCRIPT!r} + ' | ' + {SIGNS!r})"}),
    Attack("html-in-prose", "HTML in the written answer and in cells of its own", written=SCRIPT, edit=own_cells(*HTML)),
    Attack("links-in-prose", "links that run, and links to a false log-in", written=LINKS[0], edit=own_cells(*LINKS)),
    Attack("formulas", "formulas that are links, styles, or HTML", written=FORMULAS[0], edit=own_cells(*FORMULAS)),
    Attack("live-metadata", "scripts in every title, tag and name of the file", edit=live_metadata),
    Attack("live-attachments", "pictures that are none", written="![p](attachment:a.png) ![q](attachment:\"><script>stolen()</script>.png)",
           edit=live_attachments),
]

SELDOM = [
    Attack("printed-signs", "print signs to a terminal, and signs that turn text around",
           cell=f"print({SIGNS!r})\nraise ValueError({SIGNS!r})"),
    Attack("returned-scripts", "return scripts where numbers are expected, and raise them", cell="pass",
           answers={2: f"return [{SCRIPT!r}, {SIGNS!r}]", 3: f"raise ValueError({SCRIPT!r} + {SIGNS!r})"}),
    Attack("names-with-scripts", "scripts in keys, classes and lines of code", cell="pass", answers={
        2: f"return {{{SCRIPT!r}: {{1: 2}}}}", 3: f"[].{'x' * 50}  # {SCRIPT}"}),
    Attack("diagrams", "diagrams and fences that are HTML", written=DIAGRAMS[0], edit=own_cells(*DIAGRAMS)),
    Attack("signs-in-prose", "signs to a terminal in prose", written=SIGNS, edit=own_cells(SIGNS, f"# {SIGNS}")),
    Attack("live-outputs", "outputs that run", edit=live_outputs),
]
