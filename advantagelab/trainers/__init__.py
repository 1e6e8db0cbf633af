"""OM-GRPO and CAST as trainers for real models: subclasses of TRL's GRPOTrainer that call advantagelab.algorithms.

Needs TRL. What is not in a framework is here; what is (sampling, batches, the clipped loss, logs, checkpoints) stays TRL's.
Recipes: python -m advantagelab.trainers.om_grpo --help, and advantagelab.trainers.cast.
"""

import warnings
from importlib.metadata import PackageNotFoundError, version

from advantagelab.conformance.run import INSTALL, TRL_RANGE


def _require_trl() -> None:
    from packaging.specifiers import SpecifierSet

    try:
        found = version("trl")
    except PackageNotFoundError:
        raise ImportError(f"advantagelab.trainers needs TRL: {INSTALL} | advantagelab.trainers 需要 TRL：{INSTALL}") from None
    if found not in SpecifierSet(TRL_RANGE):
        warnings.warn(f"trl {found} was not tested with these trainers: {INSTALL} | "
                      f"这些训练器没有在 trl {found} 上测试过：{INSTALL}", stacklevel=3)
    try:
        from trl import GRPOConfig, GRPOTrainer  # noqa: F401
    except Exception as error:  # a lazy import raises RuntimeError as well as ImportError
        raise ImportError(f"trl {found} cannot be imported ({error}): {INSTALL} | 无法导入 trl {found}：{INSTALL}") from error


_require_trl()

from .cast_trainer import CASTConfig, CASTTrainer  # noqa: E402  TRL first: without it there is one clear message
from .om_grpo_trainer import OMGRPOConfig, OMGRPOTrainer  # noqa: E402
from .rewards import accuracy_reward, get_soft_consensus_reward, majority_vote_reward  # noqa: E402

__all__ = ["CASTConfig", "CASTTrainer", "OMGRPOConfig", "OMGRPOTrainer", "accuracy_reward", "get_soft_consensus_reward",
           "majority_vote_reward"]
