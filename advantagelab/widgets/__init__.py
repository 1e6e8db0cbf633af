"""Pictures and panels of the lessons. | 各课的图与交互面板。"""

from .advantage_flip import advantage_flip
from .answer_mask import answer_mask
from .bandit import bandit_baseline
from .baselines import baselines
from .cast_flow import cast_flow
from .cast_runs import cast_runs
from .clip import clip_region
from .consensus import consensus
from .flow import rloo_flow
from .gae import gae
from .gap_histograms import gap_histograms
from .group_scale import group_scale
from .kl_estimators import kl_estimators
from .loss_reduction import loss_reduction
from .mask_ribbon import mask_ribbon
from .mean_reward import mean_reward
from .recorded_runs import recorded_runs
from .reward_flow import reward_flow
from .timeline import timeline
from .token_shift import token_shift
from .two_stages import two_stages
from .variance import baseline_variance

__all__ = [
    "advantage_flip", "answer_mask", "bandit_baseline", "baseline_variance", "baselines", "cast_flow", "cast_runs", "clip_region",
    "consensus", "gae", "gap_histograms", "group_scale", "kl_estimators", "loss_reduction", "mask_ribbon", "mean_reward", "recorded_runs",
    "reward_flow", "rloo_flow", "timeline", "token_shift", "two_stages",
]
