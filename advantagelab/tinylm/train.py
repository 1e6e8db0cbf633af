"""Reinforcement learning of the tiny model: train(method) samples groups, asks the method's functions, and updates.

A method is a handful of functions of a batch. Everything else, model, prompts, sampling, optimizer, is one and the same for all methods.
"""

import copy
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from ..language import text
from .batch import Batch, compare_neighbors, prompt_tensor, roll_out
from .checkpoint import load
from .measure import describe, evaluate
from .model import TinyLM, score, score_in_parts
from .tasks import Problem, task_of
from .unfinished import unfinished


@dataclass(frozen=True)
class Teacher:
    """A copy of the policy that scores the completions after a prompt of its own. | 策略的副本，在自己的提示之后给回答打分。"""

    context: str = "none"  # what its prompt says, of products.CONTEXTS
    refresh: int | None = None  # every so many steps it moves toward the policy; None: it stays the model that training started from
    share: float = 1.0  # how far it moves: 1 takes the policy's weights, .02 at every step is a moving average


@dataclass(frozen=True)
class Method:
    """What tells one method from another: functions of the batch. | 一种方法所特有的：以批为参数的几个函数。

    Such as | 例如:
        Method(rewards=lambda batch: ground_truth_rewards(batch.answers, batch.correct_answers),
               advantages=lambda batch: group_relative_advantages(batch.rewards, batch.group_ids),
               loss=lambda batch: reduce_token_losses(grpo_token_losses(
                   batch.new_token_logps, batch.old_token_logps, batch.advantages, batch.completion_mask), batch.completion_mask))
    """


    rewards: Callable[[Batch], torch.Tensor]  # [N], NaN = missing
    advantages: Callable[[Batch], torch.Tensor]  # [N], or [N, T]
    loss: Callable[[Batch], torch.Tensor]  # one number, with a gradient through new_token_logps or new_token_logits
    answer_mask: Callable[[str, list[tuple[int, int]]], torch.Tensor] | None = None  # of one completion's text and offsets: [T] bool
    teacher: Teacher | None = None
    compare: bool = False  # ask for comparisons (CAR) before the rewards


@dataclass(frozen=True)
class Settings:
    steps: int = 105  # where the slowest method has had time to settle, and half a minute of CPU
    prompts: int = 32  # groups of a step
    group_size: int = 8  # G, as in the papers
    pool: int = 512  # prompts of a run: seven visits each, so that a vote can come to agree with itself
    minibatches: int = 2  # the second one sees a policy that has moved: ratios differ from 1, and the clip has something to do
    learning_rate: float = 2e-4  # at half of it majority voting has barely begun to collapse when the run ends
    warmup: int = 10  # Adam's first steps are as long as its rate allows, whatever the gradient: short ones until it has seen a few
    max_norm: float = 1.0  # of the gradient: one bad batch cannot throw the policy out
    evaluate_every: int = 15


QUICK = Settings(steps=4, warmup=2, evaluate_every=4)  # to see that a cell runs, not what it teaches


def usual_settings() -> Settings:
    """A whole run; a few steps where a notebook is only tried out (ADVANTAGELAB_QUICK=1) or graded.
    | 完整的一次训练；只试跑 notebook（ADVANTAGELAB_QUICK=1）或评分时，只走几步。"""
    quick = os.environ.get("ADVANTAGELAB_QUICK") == "1" or os.environ.get("NBGRADER_EXECUTION")
    return QUICK if quick else Settings()


@dataclass
class Record:
    """What a run has shown so far. | 一次训练到目前为止的记录。"""

    base: str
    seed: int
    settings: Settings
    policy: TinyLM
    steps: list[dict[str, float]] = field(default_factory=list)  # one entry a step, see measure.describe
    evaluations: list[dict[str, float]] = field(default_factory=list)  # at "step", see measure.evaluate
    cpu_seconds: dict[str, float] = field(default_factory=lambda: {"sampling": 0.0, "update": 0.0, "evaluation": 0.0})
    stopped: bool = False  # interrupted before its last step
    started: float = field(default_factory=time.monotonic)

    @property
    def ended(self) -> bool:
        return self.stopped or self.evaluations[-1]["step"] == self.settings.steps

    def seconds_left(self) -> float:
        """At the pace so far. | 按目前的速度还需多少秒。"""
        done = len(self.steps)
        return (time.monotonic() - self.started) / done * (self.settings.steps - done)

    def progress(self) -> str:
        """How far the run is, and how long it still takes. | 已到哪一步，还需多久。"""
        done, total = len(self.steps), self.settings.steps
        accuracy = self.evaluations[-1]["held_out_accuracy"]
        if self.stopped:
            return text(f"stopped after step {done}/{total} · held-out accuracy {accuracy:.2f}",
                        f"第 {done}/{total} 步之后停止 · 留出集正确率 {accuracy:.2f}")
        left = self.seconds_left()
        return text(f"step {done}/{total} · held-out accuracy {accuracy:.2f} · {left:.0f} s left",
                    f"第 {done}/{total} 步 · 留出集正确率 {accuracy:.2f} · 还需 {left:.0f} 秒")

    def to_dict(self) -> dict:
        """All but the policy, ready for JSON. | 除策略之外的全部内容，可直接写成 JSON。"""
        plain = {name: value for name, value in vars(self).items() if name not in ("policy", "settings", "started")}
        return {**plain, "settings": asdict(self.settings), "torch": torch.__version__}


def print_progress(record: Record) -> None:
    """One line that is written over at every step. | 每步覆盖更新的一行进度。"""
    print(f"\r{record.progress()} ", end="\n" if record.ended else "", flush=True)


def train(
    method: Method,
    base: str | Path = "half",
    seed: int = 0,
    settings: Settings | None = None,
    pool: list[Problem] | None = None,
    watch: Callable[[Record], None] = print_progress,
) -> Record:
    """Train the tiny model with a method. | 用一种方法训练这个小模型。

    base: "half" or "direct", or the file of another checkpoint, which names its task; seed: of the pool of prompts and of all sampling
          | 检查点名称或文件，任务由其自述；种子决定提示池与全部采样
    settings: default usual_settings() | 默认 usual_settings()
    pool: the problems to train on (default: settings.pool problems, drawn by the seed from those that are not held out) | 用来训练的题目
    watch: called with the record after every step, and once more at the end, such as to draw it
           | 每步之后以记录为参数调用，结束时再调用一次，例如用来画图
    returns: the record; Stop (KeyboardInterrupt) ends the run early, evaluates once more and keeps what was learned in record.policy
             | 训练记录；中途停止时再评测一次，已学到的保留在 record.policy 里
    ValueError: a function of the method gave something that no step can be made of | 方法的某个函数给出了无法使用的结果
    Unfinished: a TODO of one of its functions is still open, or a function is not defined | 所用函数还有 TODO 未完成，或函数尚未定义

    The same seed gives the same run, bit for bit: one thread is used, and torch's own random state is neither used nor changed.
    """
    settings = settings or usual_settings()
    policy = load(base)
    reference = _frozen_copy(policy)
    teacher = _frozen_copy(policy)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=settings.learning_rate, weight_decay=0.0)
    training, held_out = task_of(base).split()
    pool = pool or random.Random(seed).sample(training, settings.pool)
    generator = torch.Generator().manual_seed(seed)
    record = Record(str(base), seed, settings, policy)
    queue: list[int] = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for step in range(settings.steps):
            if step % settings.evaluate_every == 0:
                _evaluate(record, step, pool, held_out)

            while len(queue) < settings.prompts:
                queue += torch.randperm(len(pool), generator=generator).tolist()
            products = [pool[index] for index in queue[:settings.prompts]]
            del queue[:settings.prompts]
            with _timed(record, "sampling"):
                batch = roll_out(policy, products, settings.group_size, generator)
                if method.compare:
                    batch.comparisons = compare_neighbors(policy, batch, settings.group_size, generator)

            with _timed(record, "update"):
                _score(batch, policy, reference, settings.minibatches)
                if method.teacher:
                    _ask_teacher(batch, teacher, method.teacher, policy, step, settings.minibatches)
                _judge(batch, method)
                for group in optimizer.param_groups:
                    group["lr"] = settings.learning_rate * min(1.0, (step + 1) / settings.warmup)
                for minibatch in batch.chunk(settings.minibatches):
                    minibatch.new_token_logps, minibatch.new_token_logits = score(policy, minibatch.prompts, minibatch.completions)
                    loss = _require_loss(method.loss(minibatch))
                    optimizer.zero_grad()
                    loss.backward()
                    torch.nn.utils.clip_grad_norm_(policy.parameters(), settings.max_norm)
                    optimizer.step()

            record.steps.append(describe(batch))
            watch(record)
        _evaluate(record, settings.steps, pool, held_out)
    except KeyboardInterrupt:
        record.stopped = True
        with suppress(KeyboardInterrupt):  # a second Stop, from someone who does not wait for the last point
            if record.steps and record.evaluations[-1]["step"] < len(record.steps):
                _evaluate(record, len(record.steps), pool, held_out)
    except (NotImplementedError, NameError) as error:
        if said := unfinished(error, method):
            raise said from None
        raise
    finally:
        torch.set_num_threads(threads)
    if record.steps:
        with suppress(KeyboardInterrupt):
            watch(record)
    return record


def _frozen_copy(policy: TinyLM) -> TinyLM:
    return copy.deepcopy(policy).requires_grad_(False)


def _score(batch: Batch, policy: TinyLM, reference: TinyLM, parts: int) -> None:
    batch.old_token_logps, batch.old_token_logits = score_in_parts(policy, batch.prompts, batch.completions, parts)
    batch.reference_token_logps, _ = score_in_parts(reference, batch.prompts, batch.completions, parts)


def _ask_teacher(batch: Batch, model: TinyLM, teacher: Teacher, policy: TinyLM, step: int, parts: int) -> None:
    """Move the teacher if it is time, and let it score the completions after its own prompt."""
    if teacher.refresh and step % teacher.refresh == 0:
        with torch.no_grad():
            for weights, target in zip(model.parameters(), policy.parameters()):
                weights.copy_(target) if teacher.share == 1.0 else weights.lerp_(target, teacher.share)
    prompts = prompt_tensor(batch.products, teacher.context)
    batch.teacher_token_logps, batch.teacher_token_logits = score_in_parts(model, prompts, batch.completions, parts)


def _judge(batch: Batch, method: Method) -> None:
    """Rewards, answer mask and advantages, by the functions of the method."""
    count, length = batch.completions.shape
    batch.rewards = method.rewards(batch)
    _require(_is_float(batch.rewards, (count,)) and not batch.rewards.isinf().any(),
             "rewards must be a float tensor [N], finite or NaN", "奖励必须是 [N] 的浮点张量，取有限数或 NaN")
    batch.answer_mask = torch.zeros(count, length, dtype=torch.bool)
    if method.answer_mask:
        for i, (words, offsets) in enumerate(zip(batch.texts, batch.offsets)):
            mask = method.answer_mask(words, offsets)
            _require(isinstance(mask, torch.Tensor) and mask.dtype == torch.bool and mask.shape == (len(offsets),),
                     "an answer mask must be a bool tensor, one entry a token", "答案掩码必须是布尔张量，每个 Token 一个值")
            batch.answer_mask[i, :len(offsets)] = mask
    batch.advantages = method.advantages(batch)
    _require((_is_float(batch.advantages, (count,)) or _is_float(batch.advantages, (count, length))) and batch.advantages.isfinite().all(),
             "advantages must be a finite float tensor, [N] or [N, T]", "优势必须是 [N] 或 [N, T] 的有限浮点张量")


def _require_loss(loss: torch.Tensor) -> torch.Tensor:
    _require(_is_float(loss, ()) and loss.isfinite() and loss.requires_grad,
             "the loss must be one finite number with a gradient", "损失必须是一个带梯度的有限数")
    return loss


def _is_float(value: torch.Tensor, shape: tuple[int, ...]) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.shape == shape


def _require(condition: bool, en: str, zh: str) -> None:
    if not condition:
        raise ValueError(f"{en} | {zh}")


def _evaluate(record: Record, step: int, pool: list[Problem], held_out: list[Problem]) -> None:
    with _timed(record, "evaluation"):
        record.evaluations.append({"step": step, **evaluate(record.policy, pool, held_out)})


@contextmanager
def _timed(record: Record, what: str) -> Iterator[None]:
    start = time.process_time()
    yield
    record.cpu_seconds[what] += time.process_time() - start
