"""Files read in one direction: from any file, imports never lead back to it, nor do imports for types."""

from __future__ import annotations

from typing import Final

import grimp

# For types only, see docs/architecture.md ("Layers").
_EXCEPTIONS: Final = {
    ("volcano_py.framework.plugin", "volcano_py.framework.session"),
    ("volcano_py.framework.action", "volcano_py.framework.session"),
}


def test_imports_of_a_file_never_lead_back_to_it() -> None:
    graph = grimp.build_graph("volcano_py")
    for importer, imported in _EXCEPTIONS:
        assert graph.direct_import_exists(importer=importer, imported=imported), "an exception that is not needed"
        graph.remove_import(importer=importer, imported=imported)
    in_a_circle = {module for module in graph.modules if _leads_back(graph, module)}
    assert in_a_circle == set()


def test_a_cycle_is_found() -> None:
    graph = grimp.build_graph("volcano_py")
    assert _leads_back(graph, "volcano_py.framework.session"), "by way of the exceptions"


def _leads_back(graph: grimp.ImportGraph, module: str) -> bool:
    return any(module in graph.find_upstream_modules(each) for each in graph.find_modules_directly_imported_by(module))
