"""Replaces the SDKs of model vendors, so that AgentDojo is imported in a tenth of the time.

`agentdojo.task_suite` imports the agent pipeline, and that imports the SDKs. None of them runs when recorded calls are
replayed. Call `install()` before the first import of AgentDojo.
"""
import importlib.abc
import importlib.machinery
import sys
import types

SDKS = ("openai", "anthropic", "cohere", "google", "langchain", "langchain_core", "vertexai", "transformers", "torch",
        "tenacity", "rich", "click", "dotenv", "mistralai", "httpx", "requests")


class _StubType(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Stub

    def __getitem__(cls, item):
        return cls

    def __or__(cls, other):
        return cls

    __ror__ = __or__


class _Stub(metaclass=_StubType):
    def __init__(self, *args, **named):
        pass

    def __call__(self, *args, **named):
        # A decorator gives back the function that it decorates.
        return args[0] if len(args) == 1 and callable(args[0]) else _Stub()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Stub()


class _StubModule(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Stub


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in SDKS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _StubModule(spec.name)

    def exec_module(self, module):
        pass


def install():
    sys.meta_path.insert(0, _Finder())
