"""What is not collected: rooms that import torch, where there is none, and what Python runs."""

from importlib.util import find_spec

WITH_TORCH = ["batches.py", "device.py", "conductor.py", "sweep.py"]

collect_ignore = ["costplan/profiler/inject/sitecustomize.py"]
if find_spec("torch") is None:
    collect_ignore += [f"costplan/profiler/{name}" for name in WITH_TORCH]
