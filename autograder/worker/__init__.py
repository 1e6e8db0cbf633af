"""The side of the grader that runs a student's code. It holds no check, no specification, no seed, and no address of one.

Only the standard library, torch, safetensors and plain_data are imported here: these files are copied to where the student's code runs.
"""
