"""What was assumed, as warnings with one quick fix: a directive that says it."""

from __future__ import annotations

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.diagnostics.model import Diagnostic, Fix
from ferrotile.signatures.directive import constant_text
from ferrotile.signatures.model import Argument, ArrayArgument, ConstantArgument, ScalarArgument, Source
from ferrotile.syntax.module import FunctionSource, Module
from ferrotile.syntax.span import NOWHERE, Span


class Findings:
    """Collects one finding for each parameter: the first that is noted."""

    def __init__(self, module: Module, kernel: FunctionSource) -> None:
        self._module = module
        self._kernel = kernel
        self._missing: dict[str, tuple[tuple[str, str], ...]] = {}
        self._spans: dict[str, Span] = {}
        self._entries: dict[str, str] = {}

    def argument(self, argument: Argument, why: str) -> None:
        """Note what is assumed of one argument, if anything; `why` tells the reason for the element type."""
        match argument:
            case ConstantArgument(name=name, value=value, source=Source.ASSUMED, span=span):
                shown = constant_text(value)
                message = f"the value of constant `{name}` is not known: give it in a directive; {shown} is assumed"
                self._note(name, f"{name}={shown}", span, ("FT103", message))
            case ScalarArgument(name=name, dtype=dtype, source=Source.ASSUMED, span=span):
                message = f"the type of `{name}` is not known: give it in a directive; {dtype} is assumed"
                self._note(name, f"{name}: {dtype}", span, ("FT101", message))
            case ArrayArgument():
                self._array(argument, why)
            case _:
                return

    def _array(self, argument: ArrayArgument, why: str) -> None:
        name, dtype, extents = argument.name, argument.dtype, argument.extents
        found: list[tuple[str, str]] = []
        if argument.rank_source is Source.ASSUMED:
            axes = "1 axis is" if len(extents) == 1 else f"{len(extents)} axes are"
            message = f"the rank of `{name}` is not known: give its extents in a directive; {axes} assumed"
            found.append(("FT102", message))
        if argument.source is Source.ASSUMED:
            because = f", {why}" if why else ""
            message = f"the element type of `{name}` is not known: give it in a directive; {dtype} is assumed{because}"
            found.append(("FT101", message))
        if found:
            self._note(name, f"{name}: {dtype}[{', '.join(map(str, extents))}]", argument.span, *found)

    def _note(self, name: str, entry: str, span: Span, *found: tuple[str, str]) -> None:
        if name not in self._missing:
            self._missing[name] = found
            self._entries[name] = entry
            self._spans[name] = self._kernel.name_span if span == NOWHERE else span

    def told(self) -> list[Diagnostic]:
        """One warning a part that is assumed, each with the fix for all."""
        names = list(self._missing)
        if not names:
            return []
        fix = self._fix(names)
        return [diagnostic(code, message, self._spans[n], fix=fix) for n in names for code, message in self._missing[n]]

    def _fix(self, names: list[str]) -> Fix:
        at = self._kernel.span.start
        lines = self._module.document.lines
        start = lines.line_start(lines.line_of(at))
        indent = self._module.document.data[start:at].decode("utf-8", "replace")
        indent = indent if not indent.strip() else ""
        text = ""
        line = ""
        for name in names:
            entry = self._entries[name]
            if line and len(line) + len(entry) > 100:
                text += f"# ferrotile: {line}\n{indent}"
                line = ""
            line += f"{', ' if line else ''}{entry}"
        return Fix("Say it in a `# ferrotile:` directive", Span(at, at), f"{text}# ferrotile: {line}\n{indent}")
