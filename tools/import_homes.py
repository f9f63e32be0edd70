"""Each outside library has its homes: the modules that may import it. An import contract, of which .importlinter has
the table; import-linter's own kinds would need a contract of nine lines for each library.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

_HELD: Final = ("worker", "crawler_plugin")
"""Benchmarks, tools and tests may import all that they measure or check with."""


class HomesContract(Contract):
    """``homes`` holds lines ``LIBRARY: HOME HOME …``; a library may have several.

    A home is a module, or a package and all in it where ``.**`` stands behind it; a library without homes is imported
    nowhere by name. A home that does not import its library is an error, too: it would allow what nobody looked at.
    """

    type_name = "homes"
    homes = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Compare the table with what is imported."""
        wrong = not_at_home(graph, cast(list[str], self.homes))
        return ContractCheck(kept=not wrong, metadata={"wrong": wrong})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print what is wrong."""
        for line in check.metadata["wrong"]:
            output.print_error(line)


def not_at_home(graph: ImportGraph, table: Iterable[str]) -> list[str]:
    """What is wrong with the imports, or with the lines of the table, a sentence each."""
    homes_of: dict[str, list[str]] = {}
    for line in table:
        library, _, named = line.partition(":")
        homes_of.setdefault(library, []).extend(named.split())
    wrong: list[str] = []
    for library, homes in homes_of.items():
        importers = graph.find_modules_that_directly_import(library) if library in graph.modules else set()
        held = {module for module in importers if module.partition(".")[0] in _HELD}
        away = sorted(module for module in held if not any(_is_in(module, home) for home in homes))
        wrong += [f"{module} imports {library}: its homes are {', '.join(homes) or 'none'}" for module in away]
        idle = [home for home in homes if not any(_is_in(module, home) for module in held)]
        wrong += [f"{home} is a home of {library} and does not import it: strike it out" for home in idle]
    return wrong


def _is_in(module: str, home: str) -> bool:
    package = home.removesuffix(".**")
    return module == package or (home != package and module.startswith(f"{package}."))
