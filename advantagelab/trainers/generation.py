"""Sampling by TRL's own generation, whichever backend the trainer has."""

import inspect


def generate(trainer, prompt_ids: list[list[int]], num_generations: int = 1, max_new_tokens: int | None = None) -> list[list[int]]:
    """A completion of each prompt, sampled from the current policy. | 由当前策略为每个提示采样一条回答。

    prompt_ids: token ids; num_generations: of how many equal prompts standing together; max_new_tokens: default max_completion_length
    returns: token ids, the end-of-sequence token included | 含结束符
    """
    return generate_with_logps(trainer, prompt_ids, num_generations, max_new_tokens)[0]


def generate_with_logps(
    trainer, prompt_ids: list[list[int]], num_generations: int, max_new_tokens: int | None = None
) -> tuple[list[list[int]], list | None]:
    """The same, with the sampler's log-probabilities where the backend gives them (vLLM), else None. | 同上，并给出采样器的对数概率。"""
    single_turn = trainer._generate_single_turn
    # TRL 1.14.1 and later asks for the group size, and vLLM then reads an equal prompt once.
    sized = (num_generations,) if "num_generations" in inspect.signature(single_turn).parameters else ()
    owner, name = (trainer.vllm_generation, "max_completion_length") if trainer.use_vllm else (trainer.generation_config, "max_new_tokens")
    usual = getattr(owner, name)
    setattr(owner, name, usual if max_new_tokens is None else max_new_tokens)
    try:
        return single_turn(prompt_ids, None, {}, *sized)
    finally:
        setattr(owner, name, usual)
