r"""Train a model with OM-GRPO: python -m advantagelab.trainers.om_grpo --model MODEL --dataset DATASET

--smoke                     five steps of a tiny model on a CPU, no download | 小模型在 CPU 上走五步
--contrast_augmented true   with comparisons | 加上两两比较
--help                      every option

The presets are appendix B's: 128 prompts an update, 8 completions each, 3,072 tokens, 6 epochs, AdamW 3e-6, cosine, warm-up 0.1.
test-time training: --num_train_epochs 30. The answers of the data set are never rewarded; if it has some, accuracy is logged.
| 预设取自附录 B；测试时训练用 --num_train_epochs 30。数据集的答案不用来奖励；如果有，只记录准确率。
"""

from advantagelab.algorithms.om_grpo import APPENDIX_B

from .om_grpo_trainer import OMGRPOConfig, OMGRPOTrainer
from .recipe import model_and_data, parse, run
from .rewards import accuracy_reward, get_soft_consensus_reward

# Names that TRL does not have are left out where the options are made; newer transformers write warmup_ratio as a fraction of steps.
PRESET = {**APPENDIX_B, "warmup_steps": APPENDIX_B["warmup_ratio"], "per_device_train_batch_size": 8, "output_dir": "om-grpo",
          "logging_steps": 1, "save_steps": 25}


def main() -> None:
    arguments, config = parse(OMGRPOConfig, PRESET)
    model, tokenizer, rows = model_and_data(arguments, config)
    rewards = [get_soft_consensus_reward()]
    if "solution" in rows.column_names:
        rewards.append(accuracy_reward)
        config.reward_weights = [1.0, 0.0]
    run(OMGRPOTrainer(model, rewards, config, train_dataset=rows, processing_class=tokenizer), arguments)


if __name__ == "__main__":
    main()
