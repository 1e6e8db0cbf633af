r"""Contrast-augmented reward: the policy reads two completions of a group and writes only a final answer."""

from advantagelab.algorithms.label_free import chain_of_thought_prompt, comparison_prompt
from advantagelab.algorithms.om_grpo import closing_brace

from .generation import generate


def compare_completions(
    trainer, prompt_ids: list[list[int]], completion_ids: list[list[int]], group_size: int, max_new_tokens: int
) -> list[list[tuple[int, str | None]]]:
    """Answers of all ordered pairs within each group. | 各组内全部有序对的比较答案。

    prompt_ids, completion_ids: N rows, groups of `group_size` standing together | N 行，同组相邻
    returns: N lists; row i holds (j, answer) for each other completion j of its group: i was shown as solution 1, j as solution 2;
             None if no closing brace came within max_new_tokens | 第 i 行为 (j, 答案)：i 作为解答 1，j 作为解答 2；没有写完时为 None
    """
    tokenizer = trainer.processing_class
    texts = tokenizer.batch_decode(completion_ids, skip_special_tokens=True)
    first_of_group = [i - i % group_size for i in range(len(texts))]
    pairs = [(i, j) for i, first in enumerate(first_of_group) for j in range(first, first + group_size) if i != j]
    # The group's own prompt, whatever its chat template, then the beginning of the assistant's turn, which ends inside the box.
    questions = [prompt_ids[i] + tokenizer(comparison_turn(texts[i], texts[j]), add_special_tokens=False)["input_ids"] for i, j in pairs]
    rows: list[list[tuple[int, str | None]]] = [[] for _ in texts]
    size = trainer.args.per_device_train_batch_size
    for start in range(0, len(questions), size):
        written = generate(trainer, questions[start:start + size], max_new_tokens=max_new_tokens)
        for (i, j), ids in zip(pairs[start:start + size], written, strict=True):
            text = tokenizer.decode(ids, skip_special_tokens=True)
            end = closing_brace(text, 0)
            rows[i].append((j, (text[:end].strip() or None) if end is not None else None))
    return rows


def comparison_turn(solution_1: str, solution_2: str) -> str:
    r"""What comparison_prompt has after the group's prompt; it ends in \boxed{. | comparison_prompt 中提示之后的部分，以 \boxed{ 结尾。"""
    return comparison_prompt("", solution_1, solution_2).removeprefix(chain_of_thought_prompt(""))
