"""OM-GRPO's loss inside a real GRPOTrainer around a tiny random model: a rollout_func passes the mask as `env_mask`.

That is TRL's public way to leave tokens out of a loss; in the batch it becomes `tool_mask`, and the completions are still read whole.
"""

from tempfile import TemporaryDirectory

import torch

from .compare import compare
from .learner import LearnerFunctions, learner_gradient
from .tiny_model import build_model, build_tokenizer, token_logps
from .tiny_training import TOLERANCE, TinyTraining

REWARDS = {"1+2=": [1.0, 0.5, 0.0, 1.0], "33+4=": [None, 1.0, 0.25, 0.25], "5+6=": [1.0, 1.0, 0.5, 0.0]}
BETA, EPSILON = 0.5, 0.2


def compare_training(functions: LearnerFunctions, trl, checks: dict[str, str]) -> None:
    tokenizer = build_tokenizer()
    reference, policy = build_model(tokenizer, seed=1), build_model(tokenizer, seed=2)
    # Windows keeps a loaded file of weights open, and then cannot remove it at once.
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        reference.save_pretrained(folder)
        step = TinyTraining(
            trl.GRPOTrainer, trl.GRPOConfig, tokenizer, folder, policy, REWARDS, rollout_func=_rollouts, beta=BETA, epsilon=EPSILON,
            loss_type="luspo", importance_sampling_level="token", use_bias_correction_kl=False)
        log_ratios = torch.linspace(-0.6, 0.6, step.mask.numel()).reshape(step.mask.shape)
        loss, gradient = step.update_of_trl(old_per_token_logps=token_logps(policy, step.batch).detach() - log_ratios)
    answer_mask = _is_answer(step.batch["completion_ids"], tokenizer) & step.mask
    if not torch.equal(step.batch["tool_mask"].bool(), ~answer_mask):
        raise RuntimeError("env_mask did not become the batch's tool_mask")
    compare(checks, {"update_loss": loss, "update_gradient": gradient}, TOLERANCE,
            _of_learner, functions, step, policy, log_ratios, answer_mask)


def _rollouts(prompts: list[str], trainer) -> dict:
    """Completions of unequal lengths, made up. The answer is what stands between `=` and `+`: in the middle, at the end, or nowhere."""
    tokenizer = trainer.processing_class
    texts = [f"{i % 7}{'=' if i % 4 else ''}{i}{i % 3}{'+5' if i % 2 else ''}" for i in range(len(prompts))]
    completions = [tokenizer(text + tokenizer.eos_token)["input_ids"] for text in texts]
    masks = [(~_is_answer(torch.tensor([ids]), tokenizer)[0]).long().tolist() for ids in completions]
    return {"prompt_ids": [tokenizer(prompt)["input_ids"] for prompt in prompts], "completion_ids": completions, "logprobs": None,
            "env_mask": masks}


def _is_answer(ids: torch.Tensor, tokenizer) -> torch.Tensor:
    opening, closing, end = tokenizer.convert_tokens_to_ids(["=", "+", tokenizer.eos_token])
    begun = (ids == opening).cumsum(-1) - (ids == opening).long() > 0
    return begun & ~((ids == closing) | (ids == end)).cumsum(-1).bool()


def _of_learner(
    functions: LearnerFunctions, step: TinyTraining, policy, log_ratios: torch.Tensor, answer_mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    logps = token_logps(policy, step.batch)  # the old ones depend on them, too: whoever uses those has to detach them
    loss = functions.call(
        "om_grpo_loss", logps, logps - log_ratios, step.batch["ref_per_token_logps"], step.advantages_of_trl(), step.mask,
        answer_mask, shape=torch.Size(), beta=BETA, epsilon_low=EPSILON, epsilon_high=EPSILON, mask_kl=True, reduction="sequence_sum")
    return loss, learner_gradient(loss, list(policy.parameters()))
