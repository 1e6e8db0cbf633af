"""Measured figures beside their bars: python -m tests.bench [NAME]. No part of the tests."""
