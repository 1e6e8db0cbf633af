"""The two languages of a lesson: what they may not differ in, and what neither may contain."""

import pytest

from lessons._build.prose import bilingual_line_faults, differences, faults

TABLE = "| a | b |\n|---|---|\n| {} | {} |"

DIFFERENT = {
    "heading level": ("## Step 1\n\ntext", "### 第 1 步\n\n文字", "headings: ## in the English, ### in the Chinese"),
    "heading order": ("# A\n\n## B", "## 甲\n\n# 乙", "headings: # ## in the English, ## # in the Chinese"),
    "missing heading": ("# A\n\n## B", "# 甲", "headings: # ## in the English, # in the Chinese"),
    "formula missing": ("where $x_i$ is", "其中", "formula $x_i$ is only in the English"),
    "formula added": ("where", "其中 $y_i$ 是", "formula $y_i$ is only in the Chinese"),
    "formula twice": ("$x$ and $x$", "$x$ 和", "formula $x$ stands 2 times in the English, 1 times in the Chinese"),
    "index of a formula": ("$x_i$", "$x_j$", "formula $x_i$ is only in the English"),
    "inline made display": ("$x$", "$$x$$", "formula $x$ is only in the English"),
    "environment": (r"\begin{a}x\end{a}", r"\begin{a}y\end{a}", r"formula \begin{a}x\end{a} is only in the English"),
    "formula in a table": (TABLE.format("$|S|$", 1), TABLE.format("$|T|$", 1), "formula $|S|$ is only in the English"),
    "formula became code": ("`x` $y$", "$x$ `y`", "formula $y$ is only in the English"),
    "code span": ("use `beta`", "用 `alpha`", "inline code `beta` is only in the English"),
    "code span translated": ("see `rewards`", "见 `奖励`", "inline code `奖励` is only in the Chinese"),
    "code span with a dollar": ("`$x$` costs", "`$y$` 要价", "inline code `$x$` is only in the English"),
    "fenced code": ("```python\nx = 1\n```", "```python\nx = 2\n```", "code block 1: 'x = 1' in the English, 'x = 2' in the Chinese"),
    "fenced code order": ("```\na\n```\n```\nb\n```", "```\nb\n```\n```\na\n```", "code block 1: 'a' in the English, 'b' in the Chinese"),
    "fence cut short": ("```\na\nb\n```", "```\na\n```", "code block 1: 'b' in the English, '(end)' in the Chinese"),
    "fence count": ("```\na\n```", "文字", "code blocks: 1 in the English, 0 in the Chinese"),
    "link target": ("[a](https://x.org/a)", "[甲](https://x.org/b)", "link https://x.org/a is only in the English"),
    "link with parentheses": ("[a](https://x.org/a_(b))", "[甲](https://x.org/a_)", "link https://x.org/a_(b) is only in the English"),
    "bare address": ("at https://x.org/a.", "在 https://x.org/b。", "link https://x.org/a is only in the English"),
    "other language's file": ("[a](../en/03.ipynb)", "[甲](../en/03.ipynb)", "link ../en/03.ipynb is only in the Chinese"),
    "image target": ("![a plot](a.png)", "![图](b.png)", "image a.png is only in the English"),
    "HTML image": ('<img src="a.png" alt="a plot">', '<img src="b.png" alt="图">', "image a.png is only in the English"),
    "table rows": (TABLE.format(1, 2), TABLE.format(1, 2) + "\n| 3 | 4 |", "2 × 2 in the English, 3 × 2 in the Chinese"),
    "table columns": (TABLE.format(1, 2), "| 甲 |\n|---|\n| 1 |", "2 × 2 in the English, 2 × 1 in the Chinese"),
    "table missing": (TABLE.format(1, 2), "文字", "tables (rows × columns): 2 × 2 in the English, none in the Chinese"),
    "bullets": ("- a\n- b", "- 甲", "list items: 2 bulleted and 0 numbered in the English, 1 bulleted and 0 numbered in the Chinese"),
    "nested item": ("- a\n  1. b", "- 甲", "1 bulleted and 1 numbered in the English, 1 bulleted and 0 numbered in the Chinese"),
    "kind of list": ("1. a", "- 甲", "list items: 0 bulleted and 1 numbered in the English, 1 bulleted and 0 numbered in the Chinese"),
    "details": ("<details>\n<summary>Why</summary>\n\nx\n\n</details>", "为什么", "HTML tag <details> is only in the English"),
    "HTML attribute": ('<p align="left">a</p>', '<p align="right">甲</p>', 'HTML tag <p align="left"> is only in the English'),
    "footnote": ("a[^1]\n\n[^1]: Source", "甲", "footnote [^1] is only in the English"),
}

SAME = {
    "word order": (r"$x$ is less than $y$", r"比 $y$ 小的是 $x$"),
    "white space in a formula": ("$$\na +  b\n$$", "$$ a + b $$"),
    "words in a formula": (r"$x \text{ if scored}$", r"$x \text{ 有奖励时}$"),
    "dollars in code and escaped": (r"`$HOME` costs \$5, `$x`", r"`$x` 与 `$HOME` 要 \$5"),
    "price and code": (r"\$5 or $x$", r"$x$ 或 \$6"),
    "code order": ("`a` after `b`", "`b` 之后是 `a`"),
    "code span with a backtick": ("`` a`b ``", "`` a`b `` 是代码"),
    "link text": ("[the paper](https://x.org/a_(b))", "[论文](https://x.org/a_(b))"),
    "own language's file": ("[a](../../solutions/en/03.ipynb)", "[甲](../../solutions/zh/03.ipynb)"),
    "anchor": ("[Step 1](#Step-1)", "[第 1 步](#第-1-步)"),
    "reference link": ("[a][p]\n\n[p]: https://x.org", "[甲](https://x.org)"),
    "placeholder of the build": ("[solved]({{solution}})", "[参考答案]({{solution}})"),
    "alt text": ("![a plot](a.png)", "![一张图](a.png)"),
    "HTML alt text": ('<img src="a.png" alt="a plot">', '<img src="a.png" alt="图">'),
    "pipes in formulas in a table": (TABLE.format("$|S|$", "$p(x|y)$"), TABLE.format("$|S|$", "$p(x|y)$")),
    "escaped pipe in code in a table": (TABLE.format(r"`a\|b`", 1), TABLE.format(r"`a\|b`", 1)),
    "nested lists": ("- a\n  - b\n    1. c\n- d", "- 甲\n  - 乙\n    1. 丙\n- 丁"),
    "bullet signs": ("* a\n* b", "- 甲\n- 乙"),
    "stars in a formula": ("$a*b$ and $c*d$", "$c*d$ 和 $a*b$"),
    "dollars in a fence": ("```\n$a\n```\n$x$", "```\n$a\n```\n$x$ 是"),
    "hash in a fence": ("```\n# a\n```", "```\n# a\n```"),
    "underlines": ("$a_i$ and $b_i$ or _x_", "$b_i$ 与 $a_i$"),
    "empty": ("", ""),
}


@pytest.mark.parametrize("en, zh, message", DIFFERENT.values(), ids=DIFFERENT)
def test_a_difference_is_named(en, zh, message):
    assert any(message in difference for difference in differences(en, zh)), differences(en, zh)


@pytest.mark.parametrize("en, zh", SAME.values(), ids=SAME)
def test_what_may_differ_passes(en, zh):
    assert differences(en, zh) == []


FAULTY = {
    "hanzi in English": ("en", "The 基线 is", "'基线' in the English"),
    "full-width comma in English": ("en", "first， second", "'，' in the English"),
    "hanzi in English code": ("en", "see `奖励`", "'奖励' in the English"),
    "hanzi in an English formula": ("en", r"$x \text{ 若}$", "'若' in the English"),
    "British -our": ("en", "This behaviour stays.", "British spelling 'behaviour', write 'behavior'"),
    "British -ise": ("en", "We normalised it.", "British spelling 'normalised', write 'normalized'"),
    "British -isation": ("en", "Optimisation works.", "British spelling 'Optimisation', write 'optimization'"),
    "British -re": ("en", "It is centred on 0.", "British spelling 'centred', write 'centered'"),
    "British centre": ("en", "its centre", "British spelling 'centre', write 'center'"),
    "British -ll-": ("en", "an unlabelled row", "British spelling 'unlabelled', write 'unlabeled'"),
    "British in a link's words": ("en", "[the colour map](a.html)", "British spelling 'colour', write 'color'"),
    "no hanzi in Chinese": ("zh", "Rewards are shaped.", "no hanzi in the Chinese"),
    "hanzi only in code": ("zh", "Rewards `奖励` $x$", "no hanzi in the Chinese"),
    "tab": ("en", "the angle $\theta_i$", r"tab U+0009 in 'the angle $\theta_i$': was it \theta?"),
    "backspace": ("zh", "系数 $\beta$", r"was it \beta?"),
    "form feed": ("en", "$\frac{1}{2}$", r"was it \frac?"),
    "carriage return": ("en", "$\rho$", r"was it \rho?"),
    "line break": ("en", "$\nabla f$", r"was it \nabla?"),
    "zero-width space": ("zh", "基线\u200b高", "ZERO WIDTH SPACE U+200B"),
    "half-width comma": ("zh", "奖励,优势", "half-width ',' beside hanzi, write '，'"),
    "half-width comma after a formula": ("zh", "设 $x$,其中", "half-width ',' beside hanzi, write '，'"),
    "half-width comma after code": ("zh", "`x`,其中", "half-width ',' beside hanzi, write '，'"),
    "half-width colon and a space": ("zh", "PT-RLOO: 留一法", "half-width ':' beside hanzi, write '：'"),
    "half-width period": ("zh", "这是奖励.", "half-width '.' beside hanzi, write '。'"),
    "half-width parentheses": ("zh", "RLOO(留一法)", "half-width '(' beside hanzi, write '（'"),
    "half-width question mark": ("zh", "优势会变吗?", "half-width '?' beside hanzi, write '？'"),
    "half-width in bold": ("zh", "**先想再拖:** 提高", "half-width ':' beside hanzi, write '：'"),
    "half-width in a table": ("zh", TABLE.format("奖励,优势", 1), "half-width ','"),
    "half-width in alt text": ("zh", "文字 ![奖励,优势](a.png)", "half-width ','"),
    "half-width in a summary": ("zh", "<details>\n<summary>答案(长)</summary>\n\n文字\n\n</details>", "half-width '('"),
    "bold that does not close": ("zh", "**先想再拖：**只提高", "** would be shown as it stands"),
    "bold around a formula": ("zh", "**回答 $y_i$**的奖励", "** would be shown as it stands"),
    "code that does not close": ("en", "see `rewards and", "` would be shown as it stands"),
    "display formula before": ("en", "as follows:\n$$x$$\n\nwhere", "no blank line before the display formula $$x$$"),
    "display formula after": ("zh", "如下：\n\n$$x$$\n其中", "no blank line after the display formula $$x$$"),
    "display formula in a line": ("en", "so $$x$$ holds", "no blank line before the display formula $$x$$"),
    "lone dollar": ("en", "it costs 5$ here", "$ opens no formula"),
    "formula across a blank line": ("en", "$x\n\ny$", "$ opens no formula"),
    "cell break": ("en", 'text\n+++ {"key": "a"}\nmore', "cell break lost in the prose: '+++ {\"key\": \"a\"}'"),
    "cell break in a line": ("en", 'text +++ {"key": "a"}', "cell break lost in the prose"),
    "open fence": ("en", "text\n\n```python\nx = 1", "code fence never closes: '```python'"),
    "fence closed too short": ("en", "````\nx\n```", "code fence never closes: '````'"),
    "pipe in a formula in a table": ("en", TABLE.format("$|S|$", 1), "| in a formula inside a table"),
    "pipe in code in a table": ("en", TABLE.format("`a|b`", 1), "table row with more or fewer cells"),
    "short table row": ("en", "| a | b |\n|---|---|\n| 1 |", "table row with more or fewer cells than its header"),
    "number alone in a list": ("en", "1. one\n2. 0.\n3. three", "1 empty list item"),
}

CLEAN = {
    "English": ("en", "The **baseline** of group $g$ is 0.5 (see `rloo`): “good”, isn’t it? — yes…"),
    "American spellings": ("en", "behavior, normalized, promise, emphasis, analyses, totally, optimistic, recognize, caller, rigorous"),
    "British name in code": ("en", "set `colour` in [this](https://x.org/colour)"),
    "numbers": ("zh", "G = 4，奖励是 1.5、-0.5，第 2.1 节，比例 3:1。"),
    "full-width parentheses": ("zh", "RLOO（留一法）用 PPO 的裁剪（TRL 的做法）。"),
    "English names": ("zh", "Kool et al. 2019, “Buy 4 REINFORCE samples, get a baseline for free!” 提出了它。"),
    "bold beside hanzi": ("zh", "**先想再拖：** 只提高，这是**无偏**的。"),
    "formula with half-width signs": ("zh", "设 $f(x), g(x)$ 与 `a, b` 相等"),
    "URL": ("zh", "见 [论文](https://x.org/a,b_(c)?d)，或 https://x.org/a.b。"),
    "formula only": ("zh", "$$x_i = y_i$$"),
    "badge only": ("zh", "[![Open in Colab](https://x.org/b.svg)](https://x.org/a)"),
    "code only": ("zh", "`beta`"),
    "numbers only": ("zh", "1.5, 2.5"),
    "display formula": ("en", "as follows:\n\n$$\nx\n$$\n\nwhere"),
    "display formula in a list": ("en", "- as follows:\n\n  $$x$$\n\n  where"),
    "display formula in a quotation": ("en", "> as follows:\n>\n> $$x$$\n>\n> where"),
    "dollars": ("en", r"`$5`, \$5 and $x$"),
    "fences": ("en", "```python\nx = '$'\n```\n\n~~~~\n```\n~~~~"),
    "fence in a list": ("en", "- a\n\n  ```\n  x\n  ```"),
    "formula in a table": ("en", TABLE.format(r"$\lvert S\rvert$", r"`a\|b`")),
    "table in a list": ("en", "- a\n\n  | a | b |\n  |---|---|\n  | 1 | 2 |"),
    "numbered heading": ("zh", "## 1. 组"),
}


@pytest.mark.parametrize("language, text, message", FAULTY.values(), ids=FAULTY)
def test_a_fault_is_named(language, text, message):
    assert any(message in fault for fault in faults(text, language)), faults(text, language)


@pytest.mark.parametrize("language, text", CLEAN.values(), ids=CLEAN)
def test_clean_prose_passes(language, text):
    assert faults(text, language) == []


@pytest.mark.parametrize("line, message", [
    ("The baseline.", 'one " | " stands between English and Chinese, here are 0'),
    ("a | 甲 | b", "here are 2"),
    ("基线 | 基线", "'基线' in the English"),
    ("The baseline | baseline", "no Chinese after the |"),
    ("123 | 基线", "no English before the |"),
    ("mask (bool) | 掩码(布尔)", "half-width '('"),
    ("the behaviour | 行为", "British spelling"),
])
def test_a_faulty_line_is_named(line, message):
    assert any(message in fault for fault in bilingual_line_faults(line)), bilingual_line_faults(line)


@pytest.mark.parametrize("line", [
    "# advantages[scored] = ???  # [number scored]: stays 0 with fewer than two | 不足两条时保持 0",
    '    """Clipped loss of each completion on its sequence ratio. | 每条回答基于序列比率的裁剪损失。',
    "    ValueError: see require_token_scores | 见 require_token_scores",
    "need 0 < epsilon_low < 1 | epsilon_low 须在 (0, 1) 内，epsilon_high 须为正有限数",
])
def test_a_clean_line_passes(line):
    assert bilingual_line_faults(line) == []
