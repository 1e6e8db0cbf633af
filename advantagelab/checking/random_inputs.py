"""Random inputs of the hidden checks: seeded, and drawn without touching torch's global generator."""

import torch


class Rng:
    """A seeded source of the inputs that lessons need. | 课程所需输入的带种子随机源。"""

    def __init__(self, seed: int):
        self._generator = torch.Generator().manual_seed(seed)

    def integer(self, low: int, high: int) -> int:
        """One integer, low <= value <= high."""
        return int(torch.randint(low, high + 1, (1,), generator=self._generator))

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * float(torch.rand(1, generator=self._generator))

    def normal(self, *shape: int, scale: float = 1.0) -> torch.Tensor:
        """Normal numbers, mean 0: [*shape] float32."""
        return scale * torch.randn(*shape, generator=self._generator)

    def rewards(self, n: int, missing: float = 0.0) -> torch.Tensor:
        """Rewards of order 1, a share of them missing (NaN): [n] float32."""
        rewards = self.normal(n)
        rewards[torch.rand(n, generator=self._generator) < missing] = float("nan")
        return rewards

    def interleaved_groups(self, n: int, groups: int) -> torch.Tensor:
        """Group ids of unequal groups in mixed order, not starting at 0: [n] int64."""
        ids = torch.tensor([self.integer(0, groups - 1) for _ in range(n)])
        return 3 + 7 * ids

    def token_logps(self, n: int, length: int) -> torch.Tensor:
        """Token log-probabilities, all below 0: [n, length] float32."""
        return -self.normal(n, length).abs() - 0.01

    def completion_mask(self, n: int, length: int) -> torch.Tensor:
        """True on the first tokens of each completion, at least one: [n, length] bool."""
        lengths = torch.randint(1, length + 1, (n, 1), generator=self._generator)
        return torch.arange(length) < lengths
