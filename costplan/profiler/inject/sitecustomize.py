"""Starts the hooks of `costplan profile` in every Python process of a training command.

Found by Python at start-up, because its folder stands first in PYTHONPATH. Any other sitecustomize
runs first, as it would have. Whatever goes wrong here is said once and changes nothing else.
"""

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path


def chain() -> None:
    """Run the sitecustomize that this one stands in front of."""
    here = Path(__file__).resolve().parent
    others = [each for each in sys.path if Path(each or ".").resolve() != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def start() -> None:
    """Start the hooks of this very costplan, whether or not the program could import one."""
    if "COSTPLAN_PROFILE" not in os.environ:
        return
    package = Path(__file__).resolve().parents[2]
    spec = importlib.util.spec_from_file_location(
        "costplan", package / "__init__.py", submodule_search_locations=[str(package)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["costplan"] = module
    spec.loader.exec_module(module)
    importlib.import_module("costplan.profiler.hooks").start()


chain()
try:
    start()
except (
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError),
    *(OSError, RuntimeError, SyntaxError, TypeError, ValueError),
) as error:  # the program must run whatever happens here
    sys.stderr.write(f"costplan: no hooks in this process: {type(error).__name__}: {error}\n")
