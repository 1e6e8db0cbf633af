# nbgrader's settings for this course, made by `python -m autograder init`: change what your class needs.
# 本课程的 nbgrader 设置，由 `python -m autograder init` 生成：可按班级需要修改。
#
# WARNING_EN
# WARNING_ZH

import os
import sys

sys.path.insert(0, CHECKOUT)  # noqa: F821 · the checkout of the course, for the next imports | 课程代码所在处，供下面的 import 使用

from nbgrader.converters import GenerateAssignment
from nbgrader.preprocessors import ClearSolutions

from autograder.preprocessors import CleanSubmission, HideHiddenChecks
from lessons._build.todo_stub import TodoStub

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "advantagelab"

# Release: each TODO region becomes the stub that says which TODO is open. | 发布：每个 TODO 区域换成说明编号的占位语句。
c.GenerateAssignment.preprocessors = [
    TodoStub if step is ClearSolutions else step for step in GenerateAssignment.preprocessors.default()]

# From here to the feedback: for `nbgrader autograde` alone, that is for code that you trust.
# 以下至反馈之前，只对 `nbgrader autograde` 有效，即只用于你信任的代码。
# A cell that runs longer is stopped, and the next one starts. | 超时的单元会被中止，然后运行下一个。
c.Execute.timeout = 30
c.Execute.error_on_timeout = {"ename": "CellTimeoutError", "evalue": "", "traceback": [
    "CellTimeoutError: stopped at the time limit: an endless loop? | 超过时限，已中止：是否有死循环？"]}
c.Execute.kernel_name = "python3"
c.Execute.shutdown_kernel = "immediate"
c.Execute.store_widget_state = False
c.Execute.skip_cells_with_tag = "demo"  # cells that carry no points | 不计分的单元
os.environ["OMP_NUM_THREADS"] = "1"  # kernels inherit it: several may run side by side | 内核会继承它，可并行多个
# A failed check ends in an error. Text on stderr is no failure: a right answer may warn.
# 检查失败必以错误结束。stderr 上的文字不算失败：正确的答案也可能发出警告。
c.IgnorePattern.enabled = True
c.IgnorePattern.pattern = "^"
# Colab's widget data and a student's tags are dropped; a check cell that a student deleted comes back.
# Colab 的组件数据和学生加的标签会丢弃；学生删掉的检查单元会补回。
c.Autograde.sanitize_preprocessors.insert(0, CleanSubmission)
c.OverwriteCells.add_missing_cells = True

# Feedback of `nbgrader generate_feedback` shows no hidden checks: not in the cells, not in the outputs.
# `nbgrader generate_feedback` 的反馈中不出现隐藏检查：单元里没有，输出里也没有。
c.GenerateFeedback.preprocessors.insert(0, HideHiddenChecks)

# Give due dates in UTC: nbgrader misreads most offsets, "+0800" as 800 seconds.
# 截止时间请用 UTC：nbgrader 会误读时区，例如把 +0800 当成 800 秒。
