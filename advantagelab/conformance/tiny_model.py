"""A language model of a few thousand parameters and its tokenizer, made on the spot: nothing is downloaded.

Needs transformers and tokenizers.
"""

from pathlib import Path

import torch

PAD, EOS = "<pad>", "<eos>"
CHARACTERS = "0123456789+="


def build_tokenizer():
    """One token a character."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: i for i, token in enumerate([PAD, EOS, *CHARACTERS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=PAD))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.decoder = decoders.Fuse()
    # Without the list of inputs some versions of transformers add token_type_ids, which the model refuses.
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=PAD, eos_token=EOS, padding_side="left",
                                   model_input_names=["input_ids", "attention_mask"])


def build_model(tokenizer, seed: int):
    """Random weights, large enough for probabilities far from uniform. | 随机权重，概率远非均匀。"""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=64, initializer_range=0.15, tie_word_embeddings=False,
        pad_token_id=tokenizer.pad_token_id, bos_token_id=None, eos_token_id=tokenizer.eos_token_id)
    return Qwen2ForCausalLM(config).float()


def load_over(folder: Path, weights: dict):
    """The model saved in `folder` with other weights. TRL takes the folder of a policy for its reference."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder)
    model.load_state_dict(weights)
    return model


def token_logps(model, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Token log-probabilities of a TRL batch by a plain forward pass: [N, T]. What padding holds has no meaning."""
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
    attention_mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
    length = batch["completion_ids"].shape[1]
    logits = model(input_ids=ids, attention_mask=attention_mask).logits[:, -length - 1:-1]
    return torch.log_softmax(logits, dim=-1).gather(-1, batch["completion_ids"].unsqueeze(-1)).squeeze(-1)
