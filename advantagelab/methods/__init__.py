"""What the laboratory has recorded: every method, on which base, with which settings, and in which order they are run.

python -m advantagelab.methods run|sweep|bands|gap, see __main__.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from ..algorithms import training_lab as lab
from ..tinylm import TRAINING, Method, Settings


@dataclass(frozen=True)
class Entry:
    title: tuple[str, str]  # English, 中文
    group: str  # "main": the methods; "ablation": one thing changed; "cast": on a base that never shows its work; "limits"
    function: Callable[..., Method]  # of algorithms.training_lab
    arguments: dict = field(default_factory=dict)  # its arguments
    settings: Settings = Settings()
    base: str = "half"  # where it is run unless another base is named

    def method(self) -> Method:
        return self.function(**self.arguments)


def _main(en: str, zh: str, function: Callable[..., Method], **arguments) -> Entry:
    return Entry((en, zh), "main", function, arguments)


def _cast(en: str, zh: str, function: Callable[..., Method] = lab.cast_method, **arguments) -> Entry:
    return Entry((en, zh), "cast", function, arguments, base="direct")


METHODS = {
    "grpo": _main("GRPO", "GRPO", lab.grpo_method),
    "rloo": _main("RLOO", "RLOO", lab.rloo_method),
    "majority_vote": _main("majority vote", "多数投票", lab.majority_vote_method),
    "self_certainty": _main("self-certainty", "自确信度", lab.self_certainty_method),
    "soft_consensus": _main("soft consensus, no mask", "软共识，无掩码", lab.soft_consensus_method),
    "masked_vote": _main("majority vote + mask", "多数投票 + 掩码", lab.masked_vote_method),
    "om_grpo": _main("OM-GRPO", "OM-GRPO", lab.om_grpo_method),
    "om_grpo_masked_kl": _main("OM-GRPO, KL masked", "OM-GRPO，KL 也掩住", lab.om_grpo_method, mask_kl=True),
    "om_grpo_car": _main("OM-GRPO + CAR", "OM-GRPO + CAR", lab.om_grpo_car_method),

    "cast": _cast("CAST", "CAST"),
    "cast_no_flips": _cast("CAST, no flips", "CAST，不翻转", flip_down=False, flip_up=False),
    "cast_no_verifier": _cast("CAST, every reward 1", "CAST，奖励全为 1", verifier=False),
    "distillation": _cast("distillation alone", "只做蒸馏", lab.distillation_method),
    "grpo_teacher": _cast("GRPO + KL to the teacher", "GRPO + 对教师的 KL", lab.grpo_with_teacher_method),
    "cast_lagged": _cast("teacher: same prompt, refreshed every 10 steps", "教师：同一提示，每 10 步刷新", context="none", refresh=10),
    "cast_refresh_1": _cast("teacher refreshed every step", "教师每步刷新", refresh=1),
    "cast_refresh_10": _cast("teacher refreshed every 10 steps", "教师每 10 步刷新", refresh=10),
    "cast_refresh_40": _cast("teacher refreshed every 40 steps", "教师每 40 步刷新", refresh=40),
    "cast_average": _cast("teacher: moving average", "教师：滑动平均", refresh=1, share=0.02),
    "cast_dead_band_0.05": _cast("dead band 0.05", "死区 0.05", dead_band=0.05),
    "cast_dead_band_0.3": _cast("dead band 0.3", "死区 0.3", dead_band=0.3),
    "cast_flip_down": _cast("flips down only", "只向下翻转", flip_up=False),
    "cast_flip_up": _cast("flips up only", "只向上翻转", flip_down=False),
    "cast_delta_1": _cast("δ = 1", "δ = 1", delta=1.0),
    "cast_no_flips_delta_1": _cast("no flips, δ = 1", "不翻转，δ = 1", flip_down=False, flip_up=False, delta=1.0),
    "cast_no_verifier_delta_1": _cast("every reward 1, δ = 1", "奖励全为 1，δ = 1", verifier=False, delta=1.0),
    "cast_none": _cast("teacher: same prompt, fixed", "教师：同一提示，固定", context="none"),
    "cast_direct": _cast("teacher told to answer at once", "教师被要求直接作答", context="direct"),
    "cast_noise": _cast("teacher told something meaningless", "教师收到无意义的指令", context="noise"),
    "cast_reference": _cast("teacher shown the answer", "教师看到答案", context="reference"),

    "om_grpo_group": Entry(("OM-GRPO, normalizer: group", "OM-GRPO，除数取组大小"), "ablation", lab.om_grpo_method,
                           {"normalizer": "group"}),
}

for _name in ("grpo", "majority_vote", "om_grpo"):
    _entry = METHODS[_name]
    _variants = {f"learning rate {rate:g}": (f"学习率 {rate:g}", f"rate_{rate:g}", {}, Settings(learning_rate=rate))
                 for rate in (1e-4, 5e-4, 1e-3)}
    _variants |= {f"pool of {pool}": (f"题池 {pool} 道", f"pool_{pool}", {}, Settings(pool=pool)) for pool in (64, len(TRAINING))}
    if _name != "grpo":
        _variants |= {f"β = {beta:g}": (f"β = {beta:g}", f"beta_{beta:g}", {"beta": beta}, Settings()) for beta in (0.0, 0.1)}
    for _en, (_zh, _suffix, _arguments, _settings) in _variants.items():
        METHODS[f"{_name}_{_suffix}"] = Entry(
            (f"{_entry.title[0]}, {_en}", f"{_entry.title[1]}，{_zh}"), "ablation", _entry.function, _arguments, _settings)

MAIN = [name for name, entry in METHODS.items() if entry.group == "main"]
ABLATIONS = [name for name, entry in METHODS.items() if entry.group == "ablation"]
CAST_FIRST = ["cast", "cast_no_flips", "cast_no_verifier", "distillation", "grpo_teacher"]
CAST_REST = [name for name, entry in METHODS.items() if entry.group == "cast" and name not in CAST_FIRST]
LIMITS = ["grpo", "majority_vote", "om_grpo"]  # on the tasks where the mask does not help

# The sweep: methods, base and RL seeds, what is most needed first.
PLAN = [
    (MAIN, "half", [0]),
    (["grpo", *CAST_FIRST], "direct", [0]),
    (MAIN, "half", [1, 2]),
    (CAST_REST, "direct", [0]),
    (ABLATIONS, "half", [0]),
    (["grpo", *CAST_FIRST], "direct", [1, 2]),
    (["grpo", "cast_direct", "cast_lagged"], "instructed-0", [0]),
    (LIMITS, "chains-0", [0, 1, 2]),
    (LIMITS, "scaled_sums-0", [0, 1, 2]),
    (MAIN, "half-1", [0]),
    (MAIN, "half", [3, 4]),
    (["grpo", *CAST_FIRST], "direct", [3, 4]),
    (MAIN, "half-1", [1, 2]),
    (["grpo", "cast_direct", "cast_lagged"], "instructed-0", [1, 2]),
    (CAST_REST, "direct", [1]),
    (ABLATIONS, "half", [1]),
]
