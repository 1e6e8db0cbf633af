"""The reference implementations. What stands between BEGIN SOLUTION and END SOLUTION is what a learner writes.

Functions go into notebook cells as they stand here, so they use only `torch`, `math` and earlier functions of their file.
"""
