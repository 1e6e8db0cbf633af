"""Pictures and panels of the lessons. | 各课的图与交互面板。"""

from .baselines import baselines
from .clip import clip_region
from .flow import rloo_flow
from .group_scale import group_scale
from .kl_estimators import kl_estimators
from .loss_reduction import loss_reduction
from .variance import baseline_variance

__all__ = ["baseline_variance", "baselines", "clip_region", "group_scale", "kl_estimators", "loss_reduction", "rloo_flow"]
