"""Pictures and panels of the lessons. | 各课的图与交互面板。"""

from .baselines import baselines

__all__ = ["baselines"]
