"""What a comparison found: a status, a reason, and a line for each check."""

from dataclasses import dataclass, field

PASSED, FAILED, SKIPPED, INCOMPATIBLE = "passed", "failed", "skipped", "incompatible"
CHINESE = {PASSED: "通过", FAILED: "未通过", SKIPPED: "已跳过", INCOMPATIBLE: "版本不兼容"}


@dataclass(repr=False)
class Report:
    """The value of a TRL cell. | TRL 核对单元的值。

    status: "passed", "failed", "skipped" (not compared) or "incompatible" (this TRL cannot be compared with)
    reason: one bilingual line; versions: package -> version; framework_path: what of TRL was run
    checks: name -> "passed" or "failed: …" with the numbers; passed: how many of them passed
    """

    title: str
    framework_path: str
    status: str = SKIPPED
    reason: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> int:
        return sum(result == PASSED for result in self.checks.values())

    def _count(self) -> str:
        n = len(self.checks)
        return f"{self.passed} of {n} passed | 共 {n} 项，通过 {self.passed} 项" if n else "nothing was compared | 没有核对"

    def __repr__(self) -> str:
        lines = [
            f"{self.title}: {self.status} | {CHINESE[self.status]}",
            f"  reason    | 原因    {self.reason}",
            f"  versions  | 版本    {', '.join(f'{package} {version}' for package, version in self.versions.items())}",
            f"  framework | 框架    {self.framework_path}",
            f"  checks    | 核对    {self._count()}",
        ]
        for name, result in self.checks.items():
            lines.append(f"    ✓ {name}" if result == PASSED else f"    ✗ {name}\n        {result}")
        return "\n".join(lines)
