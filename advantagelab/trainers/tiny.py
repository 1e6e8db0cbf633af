r"""A tiny model that can add, a little, and box its answer: made on the spot, so that a trainer can be tried without a download.

Prompts are sums of two digits, "3+4="; a completion is some steps and a box: "so so \boxed{7}". About 15,000 parameters.
"""

import torch

from advantagelab.conformance.tiny_model import EOS, PAD, build_model

BOX = "\\boxed{"
VOCABULARY = [PAD, EOS, *"0123456789+=}so ", BOX]


def build_tokenizer():
    r"""One token a character, and one for `\boxed{`; it gives offsets. | 一个字符一个 Token，`\boxed{` 是一个 Token；能给出偏移。"""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({token: i for i, token in enumerate(VOCABULARY)}, unk_token=PAD))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\\boxed\{|."), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=PAD, eos_token=EOS, padding_side="left",
                                   model_input_names=["input_ids", "attention_mask"])


def sums() -> list[dict[str, str]]:
    """All sums of two digits below ten: `prompt` and `solution`. | 和小于十的全部一位数加法。"""
    return [{"prompt": f"{a}+{b}=", "solution": str(a + b)} for a in range(10) for b in range(10 - a)]


def build_policy(tokenizer, seed: int = 0, steps: int = 60):
    """A model after a few supervised steps: it boxes digits, some of them right. | 经过少量监督训练的模型：会写方框，偶尔答对。"""
    from torch.nn.functional import cross_entropy

    model = build_model(tokenizer, seed=seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(seed)
    rows = sums()
    for _ in range(steps):
        chosen = [rows[i] for i in torch.randint(len(rows), (64,), generator=generator).tolist()]
        words = torch.randint(4, (64,), generator=generator).tolist()
        texts = [f"{row['prompt']}{'so ' * n}{BOX}{row['solution']}}}{EOS}" for row, n in zip(chosen, words, strict=True)]
        batch = tokenizer(texts, return_tensors="pt", padding=True, padding_side="right", add_special_tokens=False)
        logits = model(**batch).logits[:, :-1]
        losses = cross_entropy(logits.transpose(1, 2), batch["input_ids"][:, 1:], reduction="none")
        valid = batch["attention_mask"][:, 1:].bool()
        valid[:, :3] = False  # not the prompt
        losses[valid].mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return model
