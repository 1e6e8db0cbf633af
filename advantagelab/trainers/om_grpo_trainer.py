r"""OM-GRPO, Outcome-Masked GRPO, as a TRL trainer: the answer decides the reward, and its tokens leave the loss.

Source: OM-GRPO (arXiv 2608.03119). The loss is TRL's, under options that make it `algorithms.om_grpo.om_grpo_loss` with "sequence_sum":
loss_type "luspo", token ratios, k3 not multiplied by the ratio, and a mask that TRL applies to policy term and KL alike.
"""

import os
import warnings
from dataclasses import dataclass, field

import torch
from trl import GRPOConfig, GRPOTrainer

from advantagelab.algorithms.om_grpo import APPENDIX_B

from .answers import HAS_MATH_VERIFY, answer_token_mask
from .comparisons import compare_completions
from .generation import generate_with_logps
from .rewards import get_soft_consensus_reward


@dataclass
class OMGRPOConfig(GRPOConfig):
    r"""GRPOConfig with OM-GRPO's defaults. | 带有 OM-GRPO 默认值的 GRPOConfig。

    loss_type "luspo", beta 0.005, epsilon 0.2, use_bias_correction_kl False: equation 1 and appendix B (TRL: "dapo", 0, 0.2, True).
    Another loss_type is another reduction: "grpo" sequence mean, "dapo" token mean, both over the tokens that are left.
    mask_answers: the tokens inside the last \boxed{…} leave policy term and KL (default True; False: plain GRPO on the same rewards)
    contrast_augmented: adds the answers of all ordered pairs to the pool, G (G - 1) short generations a prompt (default False)
    comparison_max_new_tokens: >= 1, of each of them (default 32) | 每次比较最多生成的 Token 数
    prompts_per_update: sets gradient_accumulation_steps so that this many prompts make one update; None leaves it (default; paper: 128)
    ValueError: out of range, or prompts_per_update is not a whole number of batches | 越界，或 prompts_per_update 凑不成整数个批次
    """

    loss_type: str = field(default="luspo", metadata={"help": "Reduction of the token losses. | Token 损失的归约。"})
    beta: float = field(default=APPENDIX_B["beta"], metadata={"help": "KL coefficient. | KL 系数。"})
    epsilon: float = field(default=APPENDIX_B["epsilon"], metadata={"help": "Clip range. | 裁剪范围。"})
    use_bias_correction_kl: bool = field(default=False, metadata={"help": "Multiply k3 by the ratio. | k3 是否乘以比率。"})
    mask_answers: bool = field(default=True, metadata={"help": "Leave answer tokens out of the loss. | 答案 Token 不进入损失。"})
    contrast_augmented: bool = field(default=False, metadata={"help": "Contrast-augmented reward. | 对比增强奖励。"})
    comparison_max_new_tokens: int = field(default=32, metadata={"help": "Tokens of a comparison's answer. | 比较答案的 Token 数上限。"})
    prompts_per_update: int | None = field(default=None, metadata={"help": "Prompts of one update. | 一次更新的提示数。"})

    def __post_init__(self):
        if self.comparison_max_new_tokens < 1:
            raise ValueError("comparison_max_new_tokens must be >= 1 | comparison_max_new_tokens 不能小于 1")
        if self.prompts_per_update is not None:
            at_once = self.per_device_train_batch_size * int(os.environ.get("WORLD_SIZE", 1))
            steps, left = divmod(self.prompts_per_update * self.num_generations, at_once)
            if steps < 1 or left:
                raise ValueError(f"prompts_per_update * num_generations must be a multiple of {at_once}, the completions of a step | "
                                 f"prompts_per_update * num_generations 必须是一步的回答数 {at_once} 的倍数")
            self.gradient_accumulation_steps = steps
        super().__post_init__()


class OMGRPOTrainer(GRPOTrainer):
    r"""GRPOTrainer that rewards a group's agreement, with answers left out of the loss. | 奖励组内共识、答案不进入损失的 GRPOTrainer。

    model, args, train_dataset, processing_class, …: as for GRPOTrainer. The data set needs only `prompt` | 数据集只需要 `prompt` 列
    reward_funcs: default get_soft_consensus_reward(), which contrast_augmented needs; majority_vote_reward; any of TRL's
    Logged beside TRL's metrics: answer_mask/ratio (masked share of completion tokens), consensus/{valid_ratio, unique_answers,
    majority_ratio, tie_ratio}, comparison/{pool_size, valid_ratio, new_answer_ratio}. completions/*_length count unmasked tokens only.
    The mask takes TRL's public route: a rollout_func that returns `env_mask`, TRL's `tool_mask`. So tools, environments and another
    rollout_func cannot be used. Checkpoints and train(resume_from_checkpoint=…) are TRL's: there is no state of its own.
    A mixed group's advantage is TRL's (ddof 1, 1e-4; the course: ddof 0, 1e-6). Groups must be whole on each process.
    Run: CPU, one process and two. Not run: a GPU, vLLM, PEFT, several GPUs, DeepSpeed, FSDP
    | 在 CPU 上以单进程和双进程运行过；未在 GPU、vLLM、PEFT、多 GPU、DeepSpeed、FSDP 下运行过
    ValueError: tools, an environment or a rollout_func; a tokenizer without offsets or a processor; groups split between processes
                | 给了 tools、环境或 rollout_func；分词器不能给出偏移，或是多模态处理器；组被拆到不同进程
    """

    _tag_names = ["trl", "om-grpo"]
    _name = "OM-GRPO"

    def __init__(self, model, reward_funcs=None, args: OMGRPOConfig | None = None, **options):
        if any(options.get(name) for name in ("tools", "environment_factory", "rollout_func")):
            raise ValueError("the answer mask takes the place of tools, environment_factory and rollout_func | "
                             "答案掩码占用了 tools、environment_factory 与 rollout_func 的位置")
        args = OMGRPOConfig("OM-GRPO") if args is None else args
        if not isinstance(args, OMGRPOConfig):
            raise ValueError("args must be an OMGRPOConfig | args 必须是 OMGRPOConfig")
        if args.world_size > 1 and args.per_device_train_batch_size * args.steps_per_generation % args.num_generations:
            raise ValueError("per_device_train_batch_size * steps_per_generation must be a multiple of num_generations, or groups are "
                             "split between processes | 该乘积必须是 num_generations 的倍数，否则组会被拆到不同进程")
        if not HAS_MATH_VERIFY:
            warnings.warn("math-verify is not installed: only numbers count as equal when written differently, pip install math-verify | "
                          "未安装 math-verify：写法不同的答案只有数才会判为相等", stacklevel=2)
        super().__init__(model, reward_funcs or get_soft_consensus_reward(), args, rollout_func=rollout, **options)
        if not getattr(self.processing_class, "is_fast", False):
            raise ValueError("processing_class must be a fast text tokenizer, which gives offsets | "
                             "processing_class 须为能给出偏移的快速文本分词器")


def rollout(prompts: list, trainer: OMGRPOTrainer) -> dict:
    """TRL's rollout_func: completions, what of them counts in the loss, and the comparisons of each group. | TRL 的 rollout_func。

    prompts: N, groups standing together | N 个，同组相邻
    returns: prompt_ids, completion_ids, logprobs; env_mask: N lists, 0 on answer tokens; comparisons: see compare_completions
    """
    group_size = trainer.num_generations if trainer.model.training else trainer.num_generations_eval
    prompt_ids, _, _ = trainer._tokenize_prompts(prompts)
    completion_ids, logps = generate_with_logps(trainer, prompt_ids, group_size)
    output = {"prompt_ids": prompt_ids, "completion_ids": completion_ids, "logprobs": logps}
    if trainer.args.mask_answers:
        masks = [answer_token_mask(trainer.processing_class, ids) for ids in completion_ids]
        output["env_mask"] = [(~mask).long().tolist() for mask in masks]
        counts = torch.tensor([[mask.sum(), mask.numel()] for mask in masks], device=trainer.accelerator.device).sum(0)
        masked, tokens = trainer.accelerator.gather(counts).view(-1, 2).sum(0).tolist()
        trainer._metrics["train" if trainer.model.training else "eval"]["answer_mask/ratio"].append(masked / tokens)
    if trainer.args.contrast_augmented:
        output["comparisons"] = compare_completions(
            trainer, prompt_ids, completion_ids, group_size, trainer.args.comparison_max_new_tokens)
    return output
