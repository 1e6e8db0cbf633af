"""Pictures and panels of the lessons. | 各课的图与交互面板。"""

from .baselines import baselines
from .clip import clip_region
from .flow import rloo_flow
from .mask_ribbon import mask_ribbon
from .timeline import timeline
from .token_shift import token_shift
from .variance import baseline_variance

__all__ = ["baseline_variance", "baselines", "clip_region", "mask_ribbon", "rloo_flow", "timeline", "token_shift"]
