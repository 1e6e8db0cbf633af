r"""Train a model with CAST: python -m advantagelab.trainers.cast --model MODEL --dataset DATASET

--smoke                                       five steps of a tiny model on a CPU, no download | 小模型在 CPU 上走五步
--teacher_kind fixed --teacher_instruction "Show every step of your work."   a teacher with a context of its own | 带有自己上下文的自教师
--help                                        every option

The data set needs a column with the right answer (--solution_column), which only the verifier reads. The presets are the text's and the
authors' code's: 300 steps, 8 completions a prompt, 3,072 tokens, AdamW 1e-6, no KL. They train LoRA adapters; this recipe trains all
weights (for adapters, pass peft_config to CASTTrainer; not run). Read what was found about teachers in CASTTrainer's docstring first.
| 数据集须有正确答案一列，只有验证器会读。预设取自论文译文与作者代码；原文训练 LoRA，这里训练全部权重。先读 CASTTrainer 说明中的实测结论。
"""

import sys

from .cast_trainer import CASTConfig, CASTTrainer
from .recipe import model_and_data, parse, run
from .rewards import accuracy_reward

PRESET = {"max_steps": 300, "num_generations": 8, "max_completion_length": 3072, "temperature": 1.0, "learning_rate": 1e-6,
          "per_device_train_batch_size": 8, "gradient_accumulation_steps": 8, "output_dir": "cast", "logging_steps": 1, "save_steps": 25}


def main() -> None:
    arguments, config = parse(CASTConfig, PRESET)
    model, tokenizer, rows = model_and_data(arguments, config)
    if "solution" not in rows.column_names:
        sys.exit(f"CAST needs right answers, and there is no column {arguments.solution_column!r} | "
                 f"CAST 需要正确答案，而数据集没有 {arguments.solution_column!r} 这一列")
    run(CASTTrainer(model, accuracy_reward, config, train_dataset=rows, processing_class=tokenizer), arguments)


if __name__ == "__main__":
    main()
