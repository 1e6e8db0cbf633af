"""The laboratory's loop against TRL's GRPOTrainer at equal work, on one thread: CPU time of a step, split into sampling and update.

Equal work: TRL trains the very same model (the shipped checkpoint, in transformers' GPT-2, which is the same architecture) on the same
prompts with the same verifier; a step of both is 32 prompts, 8 completions each of at most 18 tokens, scores by the old policy and by the
reference, and two updates of AdamW on 128 completions each. TRL's share beyond that, such as tokenizing and its metrics, is its own cost
and counts; its logging, saving and progress bar are off.
"""

import random
import time
from collections.abc import Iterator
from statistics import median
from tempfile import TemporaryDirectory

import torch

from advantagelab.algorithms.training_lab import grpo_method
from advantagelab.conformance.tiny_model import load_over
from advantagelab.tinylm import HELD_OUT, TRAINING, Settings, TinyLM, load, prompt_tensor, train
from advantagelab.tinylm.model import HEADS, LAYERS, POSITIONS, WIDTH
from advantagelab.tinylm.products import COMPLETION_LENGTH, boxed_answer, prompt_ids
from advantagelab.tinylm.tokens import END, END_ID, ID, PAD, PAD_ID, TOKENS, decode

STEPS, ROUNDS = 6, 3
SETTINGS = Settings(steps=STEPS, evaluate_every=STEPS)


def gpt2_of(model: TinyLM):
    """The same model as a GPT2LMHeadModel. Its linear layers are stored transposed and have biases, which stay 0 where ours has none."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=len(TOKENS), n_positions=POSITIONS, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, activation_function="gelu_new",
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, tie_word_embeddings=False, bos_token_id=None, eos_token_id=END_ID,
        pad_token_id=PAD_ID)
    theirs = GPT2LMHeadModel(config).float()
    ours = model.state_dict()
    names = {"norm_1": "ln_1", "norm_2": "ln_2", "query_key_value": "attn.c_attn", "attention_out": "attn.c_proj", "mlp_in": "mlp.c_fc",
             "mlp_out": "mlp.c_proj"}
    weights = {name: torch.zeros_like(values) for name, values in theirs.state_dict().items() if name.endswith(".bias")}
    weights |= {"transformer.wte.weight": ours["token_embedding.weight"], "transformer.wpe.weight": ours["position_embedding.weight"],
                "transformer.ln_f.weight": ours["norm.weight"], "transformer.ln_f.bias": ours["norm.bias"],
                "lm_head.weight": ours["head.weight"]}
    for layer in range(LAYERS):
        for mine, name in names.items():
            for kind in ("weight", "bias"):
                values = ours.get(f"blocks.{layer}.{mine}.{kind}")
                if values is not None:
                    weights[f"transformer.h.{layer}.{name}.{kind}"] = values.T if values.ndim == 2 else values
    theirs.load_state_dict(weights)
    return theirs


def tokenizer_of_tokens():
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel(ID, unk_token=PAD))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"<\w+>|\\boxed\{|."), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=PAD, eos_token=END, padding_side="left",
                                   model_input_names=["input_ids", "attention_mask"])


def seconds_of_ours() -> tuple[float, float]:
    """CPU of a step: sampling, update."""
    start = time.process_time()
    record = train(grpo_method(), settings=SETTINGS, watch=lambda record: None)
    whole = time.process_time() - start - record.cpu_seconds["evaluation"]
    sampling = record.cpu_seconds["sampling"]
    return sampling / STEPS, (whole - sampling) / STEPS  # rewards, reading of texts, loading: all that is not sampling counts as update


def seconds_of_trl(model, tokenizer) -> tuple[float, float]:
    """The same of TRL, its first step left out."""
    from datasets import Dataset
    from transformers import PrinterCallback, TrainerCallback, logging
    from trl import GRPOConfig, GRPOTrainer

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    answers = {decode(prompt_ids(product)): product.answer for product in random.Random(0).sample(TRAINING, SETTINGS.pool)}
    sampling, marks = [], []

    def verify(prompts, completion_ids, **_):
        texts = [decode(ids[:ids.index(END_ID) + 1] if END_ID in ids else ids) for ids in completion_ids]
        return [float(boxed_answer(text) == answers[prompt]) for prompt, text in zip(prompts, texts)]

    class Watch(TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            if state.global_step % 2 == 0:
                marks.append((time.process_time(), sum(sampling)))

    def timed_generate(*args, **kwargs):
        start = time.process_time()
        result = type(policy).generate(policy, *args, **kwargs)
        sampling.append(time.process_time() - start)
        return result

    with TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        policy = load_over(folder, model.state_dict())
        policy.generate = timed_generate
        config = GRPOConfig(
            output_dir=folder, per_device_train_batch_size=SETTINGS.prompts * SETTINGS.group_size // 2, steps_per_generation=2,
            gradient_accumulation_steps=1, num_generations=SETTINGS.group_size, max_completion_length=COMPLETION_LENGTH, temperature=1.0,
            max_steps=2 * (STEPS + 1), learning_rate=SETTINGS.learning_rate, beta=0.005, loss_type="grpo", max_grad_norm=1.0,
            weight_decay=0.0, use_cpu=True, bf16=False, gradient_checkpointing=False, seed=0, report_to="none", save_strategy="no",
            logging_strategy="no", disable_tqdm=True, dataloader_pin_memory=False)
        trainer = GRPOTrainer(model=policy, reward_funcs=verify, args=config, processing_class=tokenizer, callbacks=[Watch()],
                              train_dataset=Dataset.from_dict({"prompt": list(answers)}))
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    assert len(sampling) == STEPS + 1 and len(marks) == STEPS + 1, "a step of TRL is not what it is taken for"
    whole, of_sampling = ((marks[-1][i] - marks[0][i]) / STEPS for i in (0, 1))
    return of_sampling, whole - of_sampling


def lines() -> Iterator[tuple[str, str, str, bool]]:
    torch.set_num_threads(1)
    ours, tokenizer = load("half"), tokenizer_of_tokens()
    prompts = prompt_tensor(HELD_OUT[:8])
    apart = (ours(prompts) - gpt2_of(ours)(input_ids=prompts).logits).abs().max().item()
    same = all(tokenizer(decode(ids))["input_ids"] == ids for ids in map(prompt_ids, HELD_OUT[:8]))
    yield "TRL's model is ours: logits apart by", f"{apart:.0e}", "< 1e-3, prompts of the same tokens", apart < 1e-3 and same

    figures = {"ours": [], "TRL": []}
    for _ in range(ROUNDS):  # in turns, so that a busy machine is busy for both
        figures["ours"].append(seconds_of_ours())
        figures["TRL"].append(seconds_of_trl(gpt2_of(ours), tokenizer))
    sampling, update = ({name: median(round_[part] for round_ in rounds) * 1000 for name, rounds in figures.items()} for part in (0, 1))
    whole = {name: median(sum(round_) for round_ in rounds) * 1000 for name, rounds in figures.items()}
    ratio = whole["ours"] / whole["TRL"]
    split = "; ".join(f"{name} {whole[name]:.0f} ms (sampling {sampling[name]:.0f}, update {update[name]:.0f})" for name in figures)
    yield f"CPU of a step of GRPO: {split}; ours to TRL's", f"{ratio:.2f}", "<= 0.67", ratio <= 0.67
