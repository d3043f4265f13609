"""The language server over the wire, beside those of ruff, ty and pyright: the same text, client and run.

`bench_lsp.py [--write]`: the tables, and what of the budgets is kept; `--write` puts them into docs/performance.md.
Servers take turns in blocks of requests, so that a disturbance of the machine meets all of them."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import performance_page
from lsp_client import Client, Json
from lsp_servers import ECHO, FERROTILE, Server, peers
from lsp_text import Places, source, write_workspace
from measuring import Times

BLOCKS = 4
STARTS = 6
ASKED = 200
EDITS = 10_000
BURST = 100
WORKSPACE = 500

Row = tuple[str, ...]


class Session:
    """A server with the kernel file open and its first diagnostics told."""

    def __init__(self, server: Server, root: Path, text: str, pull: bool) -> None:
        self.server, self.text, self.places = server, text, Places(text)
        file = root / "kernels.py"
        file.write_text(text, encoding="utf-8")
        self.uri = file.as_uri()
        self.client = Client(server.command, root, pull)
        self.client.open(self.uri, text)
        self.version = 1
        self.client.diagnostics(self.uri, 1)

    def key(self) -> float:
        """Milliseconds from a key to its diagnostics."""
        self.version += 1
        start = time.perf_counter()
        self.client.change(self.uri, self.version, self.places.key(self.version))
        self.client.diagnostics(self.uri, self.version)
        return (time.perf_counter() - start) * 1e3

    def ask(self, method: str, more: dict[str, Json]) -> tuple[float, Json]:
        return self.client.timed(method, {"textDocument": {"uri": self.uri}} | more)


@contextmanager
def sessions(servers: Iterable[Server], text: str, pull: bool) -> Iterator[list[Session]]:
    """Sessions in folders of their own."""
    with tempfile.TemporaryDirectory() as folder:
        made = []
        for number, server in enumerate(servers):
            root = Path(folder, str(number))
            root.mkdir()
            made.append(Session(server, root, text, pull))
        yield made
        for session in made:
            session.client.close()


def in_turns(
    opened: Sequence[Session], count: Callable[[Session], int], once: Callable[[Session], float]
) -> list[Times]:
    """So many times of each session, in blocks, the first four not counted."""
    times: list[list[float]] = [[] for _ in opened]
    for block in range(BLOCKS):
        for session, mine in zip(opened, times, strict=True):
            warm = 4 if block == 0 else 0
            made = [once(session) for _ in range(count(session) // BLOCKS + warm)]
            mine.extend(made[warm:])
    return [Times(tuple(mine)) for mine in times]


def compared(rows: Sequence[tuple[str, Times]], used: Sequence[float]) -> list[Row]:
    """Each server's times, its median over ferrotile's, and the processor's time for a key."""
    first = rows[0][1].median
    return [
        (name, ms(min(t.ms)), ms(t.median), ms(t.percentile(99)), f"{t.median / first:.2f}", ms(cpu))
        for (name, t), cpu in zip(rows, used, strict=True)
    ]


def ms(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def keystrokes(page: performance_page.Page, text: str) -> None:
    """Change to diagnostics, asked for and told."""
    for pull in (True, False):
        with sessions([FERROTILE, *peers()], text, pull) as opened:
            before = [s.client.processor() for s in opened]
            times = in_turns(opened, lambda s: s.server.keys, Session.key)
            rows = [(s.server.name, t) for s, t in zip(opened, times, strict=True)]
            keys = [s.version - 1 for s in opened]
            used = [(s.client.processor() - b) / k for s, b, k in zip(opened, before, keys, strict=True)]
            if pull:
                page.table("Change to diagnostics, asked for (no pause for the typist)", HEAD, compared(rows, used))
                page.budget("change to diagnostics, p50", times[0].median, 6, "ms")
                page.budget("change to diagnostics, p99", times[0].percentile(99), 16, "ms")
            else:
                page.table("Change to diagnostics, told (after each server's own pause)", HEAD, compared(rows, used))


def requests(page: performance_page.Page, text: str) -> None:
    """What an editor asks while a file is read."""
    with sessions([FERROTILE, *peers()], text, True) as opened:
        places = opened[0].places
        preview = f"ferrotile-rs:/{places.kernel}.rs?uri={opened[0].uri}&kernel={places.kernel}"
        opened[0].client.request("workspace/textDocumentContent", {"uri": preview})
        kinds: list[tuple[str, str, dict[str, Json], dict[str, Json]]] = [
            ("hover", "textDocument/hover", {"position": places.tile}, {"position": places.tile}),
            ("completion", "textDocument/completion", {"position": places.directive}, {"position": places.member}),
            ("inlay hints", "textDocument/inlayHint", {"range": places.visible}, {"range": places.visible}),
            ("implementation", "textDocument/implementation", {"position": places.tile}, {"position": places.tile}),
            (
                "definition",
                "textDocument/definition",
                {"textDocument": {"uri": preview}, "position": {"line": 20, "character": 0}},
                {"position": places.tile},
            ),
            ("symbols", "textDocument/documentSymbol", {}, {}),
        ]
        table: list[Row] = []
        for name, method, own, theirs in kinds:
            cells = [name]
            for session in opened:
                more = own if session.server is FERROTILE else theirs
                if not session.ask(method, more)[1]:
                    cells += ["", ""]
                    continue
                times = Times(tuple(session.ask(method, more)[0] for _ in range(ASKED)))
                cells += [ms(times.median), ms(times.percentile(99))]
                if (
                    session.server is FERROTILE and name != "symbols"
                ):  # asked for once in a while, and for the whole file
                    page.budget(f"{name}, p99", times.percentile(99), 10, "ms")
            table.append(tuple(cells))
        head = ["", *(c for s in opened for c in (f"{s.server.name} p50 ms", "p99 ms"))]
        page.table("Requests (an empty cell: the server has no answer at this place)", head, table)


def burst(page: performance_page.Page, text: str) -> None:
    """Edits sent at once, then a hover."""
    rows = []
    with sessions([FERROTILE, ECHO, *peers()], text, False) as opened:
        for session in opened:
            client, rounds = session.client, []
            for _ in range(3):
                client.listen(1)
                del client.published[:]
                start = time.perf_counter()
                for _ in range(BURST):
                    session.version += 1
                    client.change(session.uri, session.version, session.places.key(session.version))
                session.ask("textDocument/hover", {"position": session.places.tile})
                hover = (time.perf_counter() - start) * 1e3
                client.diagnostics(session.uri, session.version)
                client.listen(1)
                rounds.append((hover, len(client.published)))
            hover, published = sorted(rounds)[1]
            rows.append((session.server.name, ms(hover), str(published)))
            if session.server is FERROTILE:
                page.budget(f"{BURST} edits, then a hover", hover, 100, "ms")
                page.budget(f"{BURST} edits: times that diagnostics were told", published, 3, "")
    page.table(f"{BURST} edits at once, then a hover", ["", "hover ms", "diagnostics told"], rows)


def starting(page: performance_page.Page) -> None:
    """Process made to `initialize` answered, and the memory then."""
    servers = [FERROTILE, ECHO, *peers()]
    times: dict[str, list[float]] = {s.name: [] for s in servers}
    memory: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(STARTS):
            for server in servers:
                client = Client(server.command, Path(folder), False)
                times[server.name].append((client.ready - client.started) * 1e3)
                client.listen(0.3)
                memory[server.name] = client.memory()
                client.close()
    first = min(times[FERROTILE.name])
    rows = [
        (name, ms(Times(tuple(t)).median), ms(min(t)), f"{min(t) / first:.2f}", f"{memory[name]:.0f}")
        for name, t in times.items()
    ]
    page.table("Start to `initialize`", ["", "p50 ms", "least ms", "ratio of the least", "idle MiB"], rows)
    page.budget("start, above pygls echo", first - min(times[ECHO.name]), 150, "ms")
    page.budget("idle memory", memory[FERROTILE.name], 90, "MiB")


def growth(page: performance_page.Page, text: str) -> None:
    """Memory over many edits."""
    with sessions([FERROTILE], text, True) as (session,):

        def edit(number: int) -> float:
            for n in range(number):
                session.version += 1
                session.client.change(session.uri, session.version, session.places.key(session.version))
                if n % 5 == 0:
                    session.client.diagnostics(session.uri, session.version)
            return session.client.memory()

        before = edit(EDITS // 10)
        after = edit(EDITS)
    page.budget(f"memory after {EDITS:,} edits", after - before, 5, "MiB more")


def workspace(page: performance_page.Page, text: str) -> None:
    """A folder of kernel files: all of its kernels found, and meanwhile hovers, in turns with a server that does
    nothing: what that one is late is the machine's doing."""
    with sessions([FERROTILE, ECHO], text, True) as (session, idle), tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_workspace(root, WORKSPACE)
        client = session.client
        change: Json = {"added": [{"uri": root.as_uri(), "name": "w"}], "removed": []}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": change})
        file = root / "part_0" / "kernels_1.py"
        place: dict[str, Json] = {"position": session.places.tile}
        usual = Times(tuple(session.ask("textDocument/hover", place)[0] for _ in range(ASKED)))
        start = time.perf_counter()
        client.open(file.as_uri(), file.read_text())
        search = client.begin("ferrotile/workspaceKernels", {})
        late, control = [], []
        while not client.answered(search):
            late.append(session.ask("textDocument/hover", place)[0])
            control.append(idle.ask("textDocument/hover", place)[0])
        seconds = time.perf_counter() - start
        found = client.finish(search)
        client.request("textDocument/diagnostic", {"textDocument": {"uri": file.as_uri()}})
    assert isinstance(found, dict) and isinstance(found["files"], list)
    number = len([f for f in found["files"] if "kernels_" in f["uri"]])
    page.budget(f"{number} kernel files, and as many others, searched", seconds, 5, "s")
    rows = [("ferrotile, before", usual), ("ferrotile, meanwhile", Times(tuple(late)))]
    rows.append(("pygls echo, idle, meanwhile", Times(tuple(control))))
    cells = [(name, ms(t.median), ms(t.percentile(99)), ms(max(t.ms)), str(len(t.ms))) for name, t in rows]
    page.table("Hovers while a folder is searched", ["", "p50 ms", "p99 ms", "worst ms", "hovers"], cells)
    page.budget("a hover meanwhile, later than the idle server's: the worst", max(late) - max(control), 20, "ms")


HEAD = ["", "least ms", "p50 ms", "p99 ms", "ratio of p50", "processor ms"]
PARTS: dict[str, Callable[[performance_page.Page, str], None]] = {
    "keystrokes": keystrokes,
    "requests": requests,
    "burst": burst,
    "starting": lambda page, _: starting(page),
    "workspace": workspace,
    "growth": growth,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    parser.add_argument("--only", choices=tuple(PARTS), nargs="*", default=tuple(PARTS))
    given = parser.parse_args()
    text = source()
    size = f"{text.count(chr(10)):,} lines with {text.count('@ct.kernel')} kernels"
    page = performance_page.Page(f"A file of {size}. By `python benchmarks/bench_lsp.py --write`.")
    before = os.getloadavg()[0]
    for part in given.only:
        PARTS[part](page, text)
        if given.write:  # a whole run takes minutes: what is done is kept
            page.write("editor", "The editor")
    page.note(
        f"Load of the machine ({os.cpu_count()} processors): {before:.1f} before, {os.getloadavg()[0]:.1f} after."
    )
    page.show()
    if given.write:
        page.write("editor", "The editor")


if __name__ == "__main__":
    main()
