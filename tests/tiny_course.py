"""A small lesson with a cell of every role, good in every respect: what the build refuses is shown by one edit of it."""

import re

from lessons._build.course import read_course

COURSE = '''
[course]
title = ["A course", "一门课"]
owner = ""
repository = ""
branch = "main"

[[lesson]]
name = "tiny"
number = "04"
code = "T-TINY"
title = ["Tiny", "微型"]
difficulty = ["Easy", "简单"]
environment = ["BASE-CPU", "BASE-CPU"]
audience = ["Tests", "测试"]
tags = [["tiny"], ["微型"]]
minutes = 5
points = 6
algorithms = ["tiny"]
'''

GLOSSARY = '''# Glossary | 术语表

| English | 中文 | symbol / name in code | note | not \\| 不用 |
|---|---|---|---|---|
| baseline | 基线 | $b$ | | |
| reward | 奖励 | $r_i$ | | 回馈 |
'''

ALGORITHM = '''"""Two functions, for the tests of the build."""

import torch

HALF = 0.5


def require_rewards(rewards: torch.Tensor) -> None:
    """Refuse an empty list of rewards. | 拒绝空的奖励列表。"""
    if rewards.numel() == 0:
        raise ValueError("rewards are empty | 奖励为空")


def centered(rewards: torch.Tensor) -> torch.Tensor:
    """Rewards minus their mean. | 奖励减去均值。"""
    require_rewards(rewards)
    # result = ???  # [N]: sums to 0 | 和为 0
    ### BEGIN SOLUTION TODO 1: Center | 中心化
    mean_of_all = rewards.mean()
    result = rewards - mean_of_all
    ### END SOLUTION
    return result


def halved(rewards: torch.Tensor) -> torch.Tensor:
    """Half of each reward. | 每个奖励的一半。"""
    # result = ???  # [N]: half | 一半
    ### BEGIN SOLUTION TODO 2: Halve | 减半
    result = rewards * 0.5
    ### END SOLUTION
    return result
'''

CHECKS = '''"""Checks of the tiny lesson."""

import torch

from advantagelab.checking import expect_close, message

from . import spec


def check_centered_by_hand(answers):
    expect_close(answers.centered(torch.tensor([1.0, 3.0])), [-1.0, 1.0], message(
        en="The baseline is the mean.", zh="基线是均值。"))


def check_centered_sums_to_zero(answers):
    expect_close(answers.centered(torch.tensor([1.0, 3.0])).sum(), 0.0, message(en="The sum is not 0.", zh="和不为 0。"))


def hidden_centered_random(answers, rng):
    rewards = rng.rewards(5)
    expect_close(answers.centered(rewards), spec.centered(rewards), message(en="Random rewards.", zh="随机奖励。"))


def check_halved_by_hand(answers):
    # two numbers | 两个数
    expect_close(answers.halved(torch.tensor([1.0, 3.0])), [0.5, 1.5], message(en="Half of each.", zh="每个的一半。"))


def check_halved_of_zero(answers):
    expect_close(answers.halved(torch.tensor([0.0])), [0.0], message(en="Half of 0 is 0.", zh="0 的一半是 0。"))


def hidden_halved_random(answers, rng):
    rewards = rng.rewards(5)
    expect_close(answers.halved(rewards), spec.halved(rewards), message(en="Random rewards.", zh="随机奖励。"))
'''

SPEC = '''"""The oracle."""

import numpy as np


def centered(rewards):
    secret_oracle = np.asarray(rewards, dtype=np.float64)
    return list(secret_oracle - secret_oracle.mean())


def halved(rewards):
    return [float(reward) / 2 for reward in rewards]
'''

LESSON = '''---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3 (ipykernel), language: python, name: python3}
---

+++ {"key": "step-1", "lang": "en"}

## Step 1: Center

Subtract the baseline, as `rewards.mean()` gives it ([source](https://example.org/paper)):

$$c_i = r_i - \\theta$$

| reward | result |
|---|---|
| 1 | $-1$ |

+++ {"key": "step-1", "lang": "zh"}

## 第 1 步：中心化

减去基线，即 `rewards.mean()` 的结果（[出处](https://example.org/paper)）：

$$c_i = r_i - \\theta$$

| 奖励 | 结果 |
|---|---|
| 1 | $-1$ |

```{code-cell}
---
key: picture
widget: baselines
---
widgets.baselines()
```

```{code-cell}
---
key: require-rewards
given: require_rewards
---
```

```{code-cell}
---
key: centered
exercise: centered
explained:
  step-1: [by_hand]
hint:
- ["Take the mean first.", "先求均值。"]
- ["Then subtract it.", "再减去它。"]
---
```

```{code-cell}
---
key: check-centered
check: centered
points: 2
---
```

+++ {"key": "why-centered", "lang": "en", "only": "solution"}

**Why.** The mean is the baseline.

+++ {"key": "why-centered", "lang": "zh", "only": "solution"}

**依据。** 均值就是基线。

```{code-cell}
---
key: halved
exercise: halved
explained:
  step-1: [by_hand, of_zero]
hint:
- ["Multiply by 0.5.", "乘以 0.5。"]
---
```

```{code-cell}
---
key: check-halved
check: halved
points: 3
---
```

```{code-cell}
---
key: all-checks
---
from advantagelab.checking import run_all_checks
run_all_checks(globals(), "centered", "halved")
```

```{code-cell}
---
key: use-it
demo: true
tags: [use]
---
# both together | 合在一起
print(halved(centered(torch.tensor([1.0, 3.0]))))
```

+++ {"key": "written", "question": "written", "points": 1}

*Write your answer here | 在此作答*

+++ {"key": "stop-here", "lang": "en", "only": "learner"}

Compare with the [solved notebook]({{solution}}).

+++ {"key": "stop-here", "lang": "zh", "only": "learner"}

对照[参考答案 notebook]({{solution}})。
'''

FILES = {
    "lessons/course.toml": COURSE,
    "lessons/glossary.md": GLOSSARY,
    "lessons/tiny/lesson.md": LESSON,
    "lessons/tiny/checks.py": CHECKS,
    "lessons/tiny/spec.py": SPEC,
    "algorithms/tiny.py": ALGORITHM,
}
LESSON_MD, CHECKS_PY, ALGORITHM_PY = "lessons/tiny/lesson.md", "lessons/tiny/checks.py", "algorithms/tiny.py"
COURSE_TOML, GLOSSARY_MD = "lessons/course.toml", "lessons/glossary.md"

PAIR = LESSON[LESSON.index('+++ {"key": "step-1", "lang": "en"}'):LESSON.index("```{code-cell}")]
ENGLISH, CHINESE = PAIR[:PAIR.index('+++ {"key": "step-1", "lang": "zh"}')], PAIR[PAIR.index('+++ {"key": "step-1", "lang": "zh"}'):]
TINY_IN_COURSE = COURSE[COURSE.index("\n[[lesson]]"):]
CELL = {key: re.search(rf"```{{code-cell}}\n---\nkey: {key}\n.*?```\n", LESSON, re.S)[0]
        for key in ("require-rewards", "centered", "check-centered", "halved", "check-halved", "all-checks")}
STOP_HERE = LESSON[LESSON.index('+++ {"key": "stop-here", "lang": "en"'):]


def write_course(folder):
    """Write the good course into `folder`; gives the function that reads it."""
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return lambda: read_course(folder / "lessons", folder / "algorithms")


def edit(folder, name, *changes):
    file = folder / name
    text = file.read_text(encoding="utf-8")
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text, f"the good {name} does not hold {old!r}"
        text = text.replace(old, new, 1)
    file.write_text(text, encoding="utf-8")
