"""Calls back once a module has been imported, without importing it. The standard library alone."""

import importlib.abc
import importlib.util
import sys


class Late(importlib.abc.MetaPathFinder):
    """Lets the real finders find one module, and calls back once it has been executed."""

    def __init__(self, name, then):
        self.name, self.then = name, then

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            self.then(module)

        spec.loader.exec_module = exec_module
        return spec


def once_imported(name, then):
    """Call `then` with the module once the program has imported it."""
    sys.meta_path.insert(0, Late(name, then))
