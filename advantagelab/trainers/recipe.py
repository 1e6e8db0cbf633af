"""What both recipes share: the command line, the data set, and the smoke run on a tiny model."""

import sys
from dataclasses import dataclass, field, fields
from pathlib import Path

from trl import TrlParser

from . import tiny

INSTRUCTION = "Let's think step by step and output the final answer within \\boxed{}."  # appendix A of OM-GRPO's translation
# A run of seconds on a CPU: nothing is downloaded, nothing is reported.
SMOKE = {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 4, "num_generations": 8, "max_completion_length": 16,
         "max_steps": 5, "learning_rate": 1e-3, "warmup_steps": 0, "logging_steps": 1, "use_cpu": True, "bf16": False,
         "report_to": "none", "save_strategy": "no", "prompts_per_update": None}


@dataclass
class RecipeArguments:
    """Model and data; every field of the config is an option, too: --learning_rate 1e-6 | 模型与数据；配置的每个字段也都是选项。"""

    model: str | None = field(default=None, metadata={"help": "Name or folder of a chat model. | 对话模型的名称或目录。"})
    dataset: str | None = field(default=None, metadata={"help": "Name or folder of a data set. | 数据集的名称或目录。"})
    dataset_config: str | None = field(default=None, metadata={"help": "Its configuration. | 数据集的配置名。"})
    split: str = field(default="train", metadata={"help": "Its split. | 数据集的划分。"})
    question_column: str = field(default="problem", metadata={"help": "Column of the question. | 问题所在的列。"})
    solution_column: str = field(default="solution", metadata={"help": "Column of the answer, if there is one. | 答案所在的列（如果有）。"})
    smoke: bool = field(default=False, metadata={"help": "A tiny model on a CPU, no download. | 用小模型在 CPU 上试跑，不下载。"})
    resume: bool = field(default=False, metadata={"help": "Go on from the last checkpoint. | 从最后一个检查点继续。"})


def parse(config_class: type, preset: dict) -> tuple[RecipeArguments, object]:
    """The command line; what it does not say is the preset's, or the smoke run's. | 命令行没有给出的取预设值；试跑时取试跑的值。"""
    parser = TrlParser((RecipeArguments, config_class))
    known = {one.name for one in fields(config_class)}
    chosen = preset | (SMOKE if "--smoke" in sys.argv else {})
    parser.set_defaults(**{name: value for name, value in chosen.items() if name in known})
    arguments, config = parser.parse_args_and_config()
    if not arguments.smoke and not (arguments.model and arguments.dataset):
        parser.error("--model and --dataset are needed, or --smoke | 需要 --model 与 --dataset，或者 --smoke")
    return arguments, config


def model_and_data(arguments: RecipeArguments, config):
    """Model, tokenizer, data set with `prompt` and perhaps `solution`. | 模型、分词器，以及含 `prompt`（可能还有 `solution`）的数据集。"""
    from datasets import Dataset, load_dataset

    if arguments.smoke:
        tokenizer = tiny.build_tokenizer()
        folder = Path(config.output_dir) / "tiny-model"  # TRL reads the reference policy from where the policy came from
        tiny.build_policy(tokenizer).save_pretrained(folder)
        return str(folder), tokenizer, Dataset.from_list(tiny.sums())
    rows = load_dataset(arguments.dataset, arguments.dataset_config, split=arguments.split)
    missing = {arguments.question_column} - set(rows.column_names)
    if missing:
        sys.exit(f"the data set has no column {missing.pop()!r}, only {rows.column_names} | 数据集没有这一列，只有 {rows.column_names}")

    def to_prompt(row: dict) -> dict:
        messages = [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": row[arguments.question_column]}]
        solution = {"solution": str(row[arguments.solution_column])} if arguments.solution_column in row else {}
        return {"prompt": messages, **solution}

    return arguments.model, None, rows.map(to_prompt, remove_columns=rows.column_names)


def run(trainer, arguments: RecipeArguments) -> None:
    trainer.train(resume_from_checkpoint=True if arguments.resume else None)
    if arguments.smoke:
        last = {name: value for entry in trainer.state.log_history for name, value in entry.items()}
        for name, value in last.items():
            print(f"{name:45}{value:.4g}" if isinstance(value, float) else f"{name:45}{value}")
    else:
        trainer.save_model()
