"""Grading with nbgrader's formats, and student code locked up. | 沿用 nbgrader 的格式评阅，学生代码在隔离中运行。"""

import sys

# jsonschema, which nbformat imports, would build a grammar of web addresses, for a second; no notebook's schema asks for one.
sys.modules.setdefault("rfc3987_syntax", None)
