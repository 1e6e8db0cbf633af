"""The laboratory: a language model of 105,000 parameters that learns on a CPU, with the functions that the learner wrote."""

from .batch import Batch, prompt_tensor, roll_out
from .checkpoint import load
from .model import TinyLM, score
from .products import HELD_OUT, TRAINING, Product
from .sample import sample
from .train import Method, Record, Settings, Teacher, train
from .unfinished import choose, needs

__all__ = ["Batch", "HELD_OUT", "Method", "Product", "Record", "Settings", "TRAINING", "Teacher", "TinyLM", "choose", "load", "needs",
           "prompt_tensor", "roll_out", "sample", "score", "train"]
