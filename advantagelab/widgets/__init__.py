"""Pictures and panels of the lessons. | 各课的图与交互面板。"""

from .baselines import baselines
from .clip import clip_region
from .flow import rloo_flow
from .mean_reward import mean_reward
from .variance import baseline_variance

__all__ = ["baseline_variance", "baselines", "clip_region", "mean_reward", "rloo_flow"]
