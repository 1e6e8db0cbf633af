"""Advantage Lab: what a notebook of the course imports. | 优势实验室：课程 notebook 所导入的包。"""

__version__ = "0.5.0"

from .language import set_language

__all__ = ["__version__", "set_language"]
