r"""CAST, Clipped Asymmetric Self-Teaching, as a TRL trainer: a verifier's advantage, reshaped and flipped token by token by a self-teacher.

Source: CAST (arXiv 2606.00172). The loss is TRL's, which takes an advantage for each token: with loss_type "dapo" and beta 0 it is
`algorithms.cast.cast_loss` with "token_mean". The token advantages are made by the functions of `algorithms.cast`.
"""

import math
from dataclasses import dataclass, field

import torch
from transformers.trainer_utils import get_last_checkpoint
from trl import GRPOConfig, GRPOTrainer

from advantagelab.algorithms.cast import (
    asymmetric_weights,
    cast_base_advantages,
    cast_token_advantages,
    require_bounds,
    self_teacher_gap,
)

from .teacher import KINDS, SelfTeacher


@dataclass
class CASTConfig(GRPOConfig):
    """GRPOConfig with CAST's defaults. | 带有 CAST 默认值的 GRPOConfig。

    loss_type "dapo", beta 0, epsilon 0.2, epsilon_high 1.0 (authors' code: loss_type "grpo", epsilon_high 0.28)
    teacher_kind: "refreshed" every teacher_refresh_steps optimizer steps (default, 10), "ema" with teacher_ema_decay (0.98), "fixed"
    teacher_instruction: what only the teacher reads besides the prompt, one text for all prompts, so it holds no answer; None: the same
                         prompt (default). Messages: joins the system message; text: stands before the prompt
                         | 只有自教师看到的指令；所有提示共用一句，因此不含答案；None 表示与策略读同样的提示
    dead_band, delta_pos, delta_neg, z, positive_bounds, negative_bounds, lam, flip_down, flip_up, limit: as in algorithms.cast,
    with its defaults (0, 0.1, 0.1, "sign", [0.8, 1.05], [0.95, 1.2], 1, True, True, 1.2) | 与 algorithms.cast 相同
    ValueError: a value out of range | 取值越界
    """

    loss_type: str = field(default="dapo", metadata={"help": "Reduction of the token losses. | Token 损失的归约。"})
    beta: float = field(default=0.0, metadata={"help": "KL coefficient. | KL 系数。"})
    epsilon: float = field(default=0.2, metadata={"help": "Lower clip range. | 裁剪下界。"})
    epsilon_high: float | None = field(default=1.0, metadata={"help": "Upper clip range. | 裁剪上界。"})
    teacher_kind: str = field(default="refreshed", metadata={"help": "refreshed, ema or fixed. | 自教师的类别。"})
    teacher_refresh_steps: int = field(default=10, metadata={"help": "Optimizer steps between refreshes. | 刷新间隔的步数。"})
    teacher_ema_decay: float = field(default=0.98, metadata={"help": "Decay of the moving average. | 滑动平均的衰减率。"})
    teacher_instruction: str | None = field(default=None, metadata={"help": "Read by the teacher only. | 只有自教师读到的指令。"})
    dead_band: float = field(default=0.0, metadata={"help": "Gaps up to this size count as 0. | 不超过它的间隙按 0 计。"})
    delta_pos: float = field(default=0.1, metadata={"help": "Base advantage of an all-correct group. | 全对组的基础优势。"})
    delta_neg: float = field(default=0.1, metadata={"help": "The same of an all-wrong group, negated. | 全错组基础优势的大小。"})
    z: str = field(default="sign", metadata={"help": "sign or printed. | 比率 z 的取法。"})
    positive_bounds: list[float] = field(default_factory=lambda: [0.8, 1.05], metadata={"help": "Weights, B > 0. | B > 0 的权重界限。"})
    negative_bounds: list[float] = field(default_factory=lambda: [0.95, 1.2], metadata={"help": "Weights, B < 0. | B < 0 的权重界限。"})
    lam: float = field(default=1.0, metadata={"help": "How far weights count. | 权重起多大作用。"})
    flip_down: bool = field(default=True, metadata={"help": "Flip where B > 0 and gap < 0. | B > 0 且间隙 < 0 时翻转。"})
    flip_up: bool = field(default=True, metadata={"help": "Flip where B < 0 and gap > 0. | B < 0 且间隙 > 0 时翻转。"})
    limit: float = field(default=1.2, metadata={"help": "Token advantages stay within ± this. | Token 优势的界限。"})

    def __post_init__(self):
        if self.teacher_kind not in KINDS:
            raise ValueError(f"teacher_kind must be one of {', '.join(KINDS)} | teacher_kind 只能取 {'、'.join(KINDS)}")
        if self.teacher_refresh_steps < 1 or not 0 <= self.teacher_ema_decay < 1:
            raise ValueError("need teacher_refresh_steps >= 1 and 0 <= teacher_ema_decay < 1 | "
                             "teacher_refresh_steps 不能小于 1，teacher_ema_decay 须在 [0, 1) 内")
        if not all(0 <= value < math.inf for value in (self.dead_band, self.delta_pos, self.delta_neg)):
            raise ValueError("dead_band, delta_pos and delta_neg must be finite and >= 0 | "
                             "dead_band、delta_pos 与 delta_neg 必须是非负有限数")
        if self.z not in ("sign", "printed") or not 0 <= self.lam <= 1 or not self.limit > 0:
            raise ValueError('need z "sign" or "printed", 0 <= lam <= 1, limit > 0 | '
                             'z 只能取 "sign" 或 "printed"，lam 须在 [0, 1] 内，limit 须为正数')
        require_bounds(tuple(self.positive_bounds), tuple(self.negative_bounds))
        super().__post_init__()


class CASTTrainer(GRPOTrainer):
    """GRPOTrainer with a self-teacher that gives each token an advantage of its own. | 由自教师为每个 Token 给出优势的 GRPOTrainer。

    model, args, train_dataset, processing_class, …: as for GRPOTrainer; reward_funcs: one verifier, 0, 1 or None = missing, such as
    accuracy_reward | 一个验证器，取 0、1 或 None（缺失）
    A mixed group's base advantage is TRL's, as scale_rewards says (default ddof 1, 1e-4; the course: ddof 0, 1e-6); a zero-variance
    group's is ±delta. Without a gap and without zero-variance groups, below `limit`, CAST is GRPOTrainer. Evaluation is GRPOTrainer's.
    What was found (models of 100,000 parameters, a few seeds; lesson 06): with both flips the sign of a token's advantage is the
    teacher's, and the verifier sets its size only. A fixed teacher with the right instruction rescued a run that GRPO could not start,
    up to the teacher's own accuracy; a KL to the same teacher did better. Refreshing a teacher with an instruction undid this, and
    after every step destroyed the policy; a wrong instruction is learned as well. Where GRPO explores, no variant with flips was
    better. A dead band helps.
    | 实测（十万参数的模型，几个种子，见第 06 课）：两种翻转都打开时，Token 优势的符号由自教师决定，验证器只定大小；固定且指令正确的
    自教师能救活 GRPO 起不了步的训练，上限是自教师的水平，而对同一自教师加 KL 更好；刷新带指令的自教师会抵消这一点，每步刷新会毁掉
    策略；错误的指令同样会被学到；GRPO 能探索时，带翻转的做法都不更好；死区有帮助。
    Logged beside TRL's metrics: cast/{gap_mean, gap_abs_mean, teacher_positive_ratio, teacher_negative_ratio, flip_down_ratio,
    flip_up_ratio, limit_ratio} over completion tokens, cast/zero_variance_ratio over completions.
    Checkpoints also hold teacher.safetensors; train(resume_from_checkpoint=…) restores it, and with TRL's state the step that
    refreshes go by. As in TRL, a run goes on exactly as before if its checkpoint ends a generation cycle, which it does unless
    num_iterations or steps_per_generation was changed.
    Run: CPU, one process and two. Not run: a GPU, vLLM, PEFT, several GPUs, images
    | 在 CPU 上以单进程和双进程运行过；未在 GPU、vLLM、PEFT、多 GPU、图像输入下运行过
    ValueError: not one reward function, or a reward that is neither 0, 1 nor None; sharded weights (DeepSpeed, FSDP); tools and the like
                | 奖励函数不止一个，奖励不是 0、1 或 None；权重分片（DeepSpeed、FSDP）；给了 tools 等
    """

    _tag_names = ["trl", "cast"]
    _name = "CAST"

    def __init__(self, model, reward_funcs, args: CASTConfig | None = None, **options):
        if isinstance(reward_funcs, list) and len(reward_funcs) != 1:
            raise ValueError("one reward function is needed, a verifier of 0 and 1 | 只能有一个奖励函数，即取 0 或 1 的验证器")
        if any(options.get(name) for name in ("tools", "environment_factory", "rollout_func")):
            raise ValueError("the teacher scores plain completions: no tools, environment_factory or rollout_func | "
                             "自教师只为普通回答打分：不支持 tools、environment_factory 与 rollout_func")
        args = CASTConfig("CAST") if args is None else args
        if not isinstance(args, CASTConfig):
            raise ValueError("args must be a CASTConfig | args 必须是 CASTConfig")
        super().__init__(model, reward_funcs, args, **options)
        if self.is_deepspeed_enabled or self.is_fsdp_enabled:
            raise ValueError("the teacher is a copy of whole weights, not of shards: no DeepSpeed, no FSDP | "
                             "自教师是完整权重的副本，权重不能分片：不支持 DeepSpeed 与 FSDP")
        self.teacher = SelfTeacher(
            self.accelerator.unwrap_model(self.model), args.teacher_kind, args.teacher_refresh_steps, args.teacher_ema_decay)
        self.add_callback(self.teacher)

    def train(self, resume_from_checkpoint: str | bool | None = None, **options):
        """As in TRL; the teacher comes back with the checkpoint. | 与 TRL 相同；自教师随检查点恢复。"""
        checkpoint = get_last_checkpoint(self.args.output_dir) if resume_from_checkpoint is True else resume_from_checkpoint
        if checkpoint:
            self.teacher.load(checkpoint)
        return super().train(resume_from_checkpoint=resume_from_checkpoint, **options)

    def _calculate_rewards(self, *args, **kwargs) -> torch.Tensor:
        rewards = super()._calculate_rewards(*args, **kwargs)  # [completions of all processes, 1]
        self._rewards = rewards[:, 0]
        return rewards

    def _generate_and_score_completions(self, inputs: list[dict]) -> dict:
        batch = super()._generate_and_score_completions(inputs)
        if self.model.training:
            base = self._base_advantages(batch["advantages"])
            mask = batch["completion_mask"].bool()
            gaps = self_teacher_gap(*self._teacher_and_old_logps(inputs, batch), mask, dead_band=self.args.dead_band)
            bounds = {"positive_bounds": tuple(self.args.positive_bounds), "negative_bounds": tuple(self.args.negative_bounds)}
            weights = asymmetric_weights(base, gaps, z=self.args.z, **bounds)
            batch["advantages"] = cast_token_advantages(
                base, gaps, weights, lam=self.args.lam, flip_down=self.args.flip_down, flip_up=self.args.flip_up,
                limit=self.args.limit, **bounds)
            self._log_statistics(base, gaps, batch["advantages"], mask)
        return batch

    def _base_advantages(self, advantages: torch.Tensor) -> torch.Tensor:
        """[N] of this process: TRL's in a mixed group, ±delta in a zero-variance group. | 混合组用 TRL 的，零方差组用 ±delta。"""
        group_ids = torch.arange(len(self._rewards), device=self._rewards.device) // self.num_generations
        base = cast_base_advantages(self._rewards, group_ids, delta_pos=self.args.delta_pos, delta_neg=self.args.delta_neg)
        is_mixed = cast_base_advantages(self._rewards, group_ids, delta_pos=0.0, delta_neg=0.0) != 0
        self._metrics["train"]["cast/zero_variance_ratio"].append(1 - (is_mixed | self._rewards.isnan()).float().mean().item())
        own = slice(self.accelerator.process_index * len(advantages), (self.accelerator.process_index + 1) * len(advantages))
        return torch.where(is_mixed[own], advantages, base[own])

    @torch.no_grad()
    def _teacher_and_old_logps(self, inputs: list[dict], batch: dict) -> tuple[torch.Tensor, torch.Tensor]:
        """[N, T] each: one module, one call, other weights and another prompt. | 同一个模块、同一个调用，只换权重与提示。"""
        was_training = self.model.training
        self.model.eval()  # no dropout: a gap is to come from weights and context alone
        try:
            old = self._score(batch["prompt_ids"], batch["prompt_mask"], batch)
            with self.teacher.in_place():
                teacher = self._score(*self._teacher_prompts(inputs, batch), batch)
        finally:
            self.model.train(was_training)
        return teacher, old

    def _score(self, prompt_ids: torch.Tensor, prompt_mask: torch.Tensor, batch: dict) -> torch.Tensor:
        ids = torch.cat([prompt_ids, batch["completion_ids"]], dim=1)
        mask = torch.cat([prompt_mask, batch["completion_mask"]], dim=1)
        logps, *_ = self._get_per_token_logps_and_entropies(
            self.model, ids, mask, batch["completion_ids"].shape[1], batch_size=self.args.per_device_train_batch_size)
        return logps

    def _teacher_prompts(self, inputs: list[dict], batch: dict) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids and mask, [N, P'] each, padded on the left. | Token id 与掩码，左侧填充。"""
        if self.args.teacher_instruction is None:
            return batch["prompt_ids"], batch["prompt_mask"]
        rows, _, _ = self._tokenize_prompts([with_instruction(row["prompt"], self.args.teacher_instruction) for row in inputs])
        longest = max(len(ids) for ids in rows)
        device, pad = batch["prompt_ids"].device, self.processing_class.pad_token_id
        return (torch.tensor([[pad] * (longest - len(ids)) + list(ids) for ids in rows], device=device),
                torch.tensor([[0] * (longest - len(ids)) + [1] * len(ids) for ids in rows], device=device))

    def _log_statistics(self, base: torch.Tensor, gaps: torch.Tensor, advantages: torch.Tensor, mask: torch.Tensor) -> None:
        base = base.unsqueeze(-1)
        statistics = {
            "gap_mean": gaps, "gap_abs_mean": gaps.abs(), "teacher_positive_ratio": gaps > 0, "teacher_negative_ratio": gaps < 0,
            "flip_down_ratio": (base > 0) & (advantages < 0), "flip_up_ratio": (base < 0) & (advantages > 0),
            "limit_ratio": advantages.abs() >= self.args.limit}
        sums = torch.stack([values[mask].float().sum() for values in statistics.values()] + [mask.sum().float()])
        *sums, tokens = self.accelerator.gather(sums).view(-1, len(sums)).sum(0).tolist()
        for name, total in zip(statistics, sums, strict=True):
            self._metrics["train"][f"cast/{name}"].append(total / max(tokens, 1))


def with_instruction(prompt: str | list[dict], instruction: str) -> str | list[dict]:
    """The teacher's prompt. | 自教师的提示。"""
    if isinstance(prompt, str):
        return instruction + prompt
    if prompt[0]["role"] == "system":
        return [{**prompt[0], "content": f"{prompt[0]['content']}\n\n{instruction}"}, *prompt[1:]]
    return [{"role": "system", "content": instruction}, *prompt]
