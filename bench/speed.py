#!/usr/bin/env python3
"""How long costplan takes, beside other command lines of its kind, on this machine.

    python bench/speed.py            # a Markdown table, and bench/results/speed.json
    python bench/speed.py --write    # the table goes into bench/README.md too

What is measured, and how: bench/README.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

import offers as synthetic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent
CACHE: Final = ROOT / ".cache" / "bench"
RESULTS: Final = HERE / "results" / "speed.json"
README: Final = HERE / "README.md"
MARKERS: Final = ("<!-- results -->", "<!-- end of results -->")

JOB: Final = "examples/ssd-coco.yaml"
ON: Final = synthetic.CHECKED
SIZES: Final = (1_000, 10_000, 100_000)
MANY_RUNS: Final = 5
BARE: Final = "python -c pass"
INSTALL_S: Final = 1_200.0
RUN_S: Final = 300.0

# The aims, in multiples of the bare interpreter, seconds and MB.
HELP_X: Final = 7.0
ESTIMATE_X: Final = 25.0
MANY: Final = SIZES[-1]
MANY_S: Final = 5.0
MANY_MB: Final = 500.0
LINEAR: Final = 1.1
"""Exponent of the growth up to which it counts as linear."""

PEERS: Final[dict[str, tuple[str, ...]]] = {
    "vastai": ("vastai", "--help"),
    "skypilot": ("sky", "--help"),
    "gpuhunt": ("python", "-m", "gpuhunt", "--help"),
    "dstack": ("dstack", "--help"),
    "modal": ("modal", "--help"),
    "runpod": ("runpod", "--help"),
}
"""Package and its command; what is installed is in bench/peers/PACKAGE.txt."""

# gpuhunt without a network: its own catalog file in a folder, its own query with the job's memory.
GPUHUNT_QUERY: Final = (
    "from gpuhunt._internal.catalog import Catalog\n"
    "found = Catalog(auto_reload=False).query(provider='runpod', min_gpu_memory=22)\n"
    "print(len(found))\n"
)
GPUHUNT_CATALOG: Final = "runpod.csv"
WORK: Final = {"costplan": "estimate --offers", "gpuhunt": "catalog query"}


class Tool(NamedTuple):
    """A command line in an environment of its own."""

    name: str
    version: str
    bin: Path


class Run(NamedTuple):
    """One process from start to end."""

    seconds: float
    peak_mb: float
    status: int
    out: str


class Command(NamedTuple):
    """What is timed, and how its row is called."""

    tool: Tool
    label: str
    words: tuple[str, ...]
    aim_x: float | None = None


class Timed(NamedTuple):
    """A command's runs, and each as a multiple of the bare interpreter just before it."""

    command: Command
    seconds: list[float]
    multiples: list[float]


class Asking(NamedTuple):
    """A command over so many offers."""

    tool: Tool
    offers: int
    words: tuple[str, ...]
    variables: dict[str, str]


class Series(NamedTuple):
    """Its runs."""

    asking: Asking
    ranked: int
    """Offers in the answer."""
    seconds: list[float]
    peak_mb: list[float]


class Growth(NamedTuple):
    """How a tool's time grows with the number of offers."""

    tool: str
    start_s: float
    """With one offer."""
    us_per_offer: dict[int, float]
    exponent: float


class Results(NamedTuple):
    """All that was measured."""

    conditions: str
    timed: list[Timed]
    series: list[Series]
    failed: list[str]


class Workplace(NamedTuple):
    """Where commands run: nothing of the person's own settings, the network as it is."""

    folder: Path
    environment: dict[str, str]


def say(text: str) -> None:
    """Say on standard error what takes time."""
    print(text, file=sys.stderr, flush=True)


# Environments


def digest(parts: Iterable[bytes]) -> str:
    """Return a short hash of `parts`."""
    found = hashlib.sha256()
    for part in parts:
        found.update(hashlib.sha256(part).digest())
    return found.hexdigest()[:12]


def interpreter() -> bytes:
    """Return what an environment depends on beside its packages."""
    return f"{sys.version} {Path(sys.executable).resolve()}".encode()


def sources() -> str:
    """Return a hash of all that goes into the wheel of this checkout."""
    paths = [ROOT / "pyproject.toml"]
    for folder in ("costplan", "pricing"):
        paths += sorted(p for p in (ROOT / folder).rglob("*") if "__pycache__" not in p.parts)
    files = [path for path in paths if path.is_file()]
    return digest(part for p in files for part in (bytes(p.relative_to(ROOT)), p.read_bytes()))


def pip(folder: Path, *words: str) -> str | None:
    """Run pip in the environment `folder`; return None, or why it failed."""
    with (folder / "pip.log").open("ab") as log:
        try:
            done = subprocess.run(
                [folder / "bin" / "python", "-m", "pip", "install", "--quiet", *words],
                env={**os.environ, "PIP_USER": "0", "PIP_NO_INPUT": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=INSTALL_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"not installed within {INSTALL_S:g} s"
    return None if done.returncode == 0 else f"pip could not install it (exit {done.returncode})"


def environment(name: str, key: str, stamp: str, *words: str) -> Path | str:
    """Return the environment `name` with `pip install WORDS` done, or why there is none.

    It lies in a folder of the cache, is made anew when `key` changes, and pip runs again in it when
    `stamp` does.
    """
    folder = CACHE / f"{name}-{key}"
    ready = folder / "ready"
    if ready.is_file() and ready.read_text() == stamp:
        return folder
    say(f"{name}: installing")
    if not ready.is_file():
        for old in CACHE.glob(f"{name}-*"):
            shutil.rmtree(old)
        folder.mkdir(parents=True)
        made = [sys.executable, "-m", "venv", str(folder)]
        if subprocess.run(made, capture_output=True, check=False).returncode:
            return "this Python cannot make a virtual environment"
    ready.unlink(missing_ok=True)
    failed = pip(folder, *words)
    if failed is None:
        ready.write_text(stamp)
    return failed or folder


def installed(folder: Path, package: str) -> str:
    """Return the version of `package` in the environment `folder`."""
    code = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
    found = subprocess.run(
        [folder / "bin" / "python", "-c", code, package],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or "?"


def costplan() -> Tool:
    """Return costplan as a user gets it: the wheel of this checkout, built and installed."""
    key = digest([(ROOT / "pyproject.toml").read_bytes(), interpreter()])
    found = environment("costplan", key, sources(), str(ROOT))
    if isinstance(found, str):
        raise SystemExit(f"costplan: {found}; pip.log in {CACHE.relative_to(ROOT)} says more")
    return Tool("costplan", installed(found, "costplan"), found / "bin")


def peer(package: str) -> Tool | str:
    """Return `package` in its environment, or why it cannot be had."""
    requirements = HERE / "peers" / f"{package}.txt"
    key = digest([requirements.read_bytes(), interpreter()])
    found = environment(package, key, "", "--requirement", str(requirements))
    if isinstance(found, str):
        return found
    return Tool(package, installed(found, package), found / "bin")


# Running


def workplace(folder: Path) -> Workplace:
    """Return an empty home for the commands, so that none reads a person's settings or keys."""
    home = folder / "home"
    home.mkdir()
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTHON", "XDG_", "COSTPLAN_", "VIRTUAL_ENV"))
    }
    return Workplace(folder, {**kept, "HOME": str(home)})


def run(
    place: Workplace,
    words: Sequence[str | Path],
    *,
    keep: bool = False,
    variables: Mapping[str, str] | None = None,
) -> Run:
    """Run `words`, a full path first, in the checkout and measure it.

    What it prints is thrown away, but returned with `keep`; `variables` come on top of the
    environment of `place`.
    """
    printed = place.folder / "printed"
    with (printed if keep else Path(os.devnull)).open("wb") as out:
        begun = time.perf_counter()
        process = subprocess.Popen(
            words,
            cwd=ROOT,
            env={**place.environment, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.DEVNULL,
        )
        process.returncode, peak_mb = ended(process.pid)
        seconds = time.perf_counter() - begun
    text = printed.read_text(encoding="utf-8", errors="replace") if keep else ""
    return Run(seconds, peak_mb, process.returncode, text)


def ended(pid: int) -> tuple[int, float]:
    """Wait for a process, at most `RUN_S`; return its exit status and its peak memory in MB."""
    alarm = threading.Timer(RUN_S, os.kill, (pid, signal.SIGKILL))
    alarm.start()
    _, status, usage = os.wait4(pid, 0)
    alarm.cancel()
    peak_bytes = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return os.waitstatus_to_exitcode(status), peak_bytes / 1e6


# Start-up


def commands_of(tools: Iterable[Tool]) -> list[Command]:
    """Return what is timed, the bare interpreter of each environment before its commands."""
    found = []
    for tool in tools:
        found.append(Command(tool, BARE, (str(tool.bin / "python"), "-c", "pass")))
        if tool.name == "costplan":
            program, estimate = str(tool.bin / "costplan"), f"costplan estimate {JOB}"
            words = (program, "estimate", JOB)
            found += [
                Command(tool, "costplan --help", (program, "--help"), HELP_X),
                Command(tool, estimate, words, ESTIMATE_X),
                Command(
                    tool, f"{estimate} --format json", (*words, "--format", "json"), ESTIMATE_X
                ),
            ]
        else:
            first, *rest = PEERS[tool.name]
            label = " ".join((first, *rest))
            found.append(Command(tool, label, (str(tool.bin / first), *rest)))
    return found


def startup(place: Workplace, tools: Sequence[Tool], runs: int) -> tuple[list[Timed], list[str]]:
    """Return the runs of every command, in turns, and a sentence for each that does not run."""
    commands, failed = [], []
    for command in commands_of(tools):
        say(f"warm-up: {command.label} ({command.tool.name})")
        status = run(place, command.words).status
        if status == 0:
            commands.append(command)
        elif command.tool.name == "costplan":
            raise SystemExit(f"{command.label}: exit {status}")
        else:
            failed.append(f"{command.label}: not run: exit {status}")
    timed = [Timed(command, [], []) for command in commands]
    for number in range(1, runs + 1):
        say(f"start-up, run {number} of {runs}")
        bare = math.nan
        for one in timed:
            seconds = run(place, one.command.words).seconds
            bare = seconds if one.command.label == BARE else bare
            one.seconds.append(seconds)
            one.multiples.append(seconds / bare)
    return timed, failed


# Many offers


def offer_commands(place: Workplace, tools: Sequence[Tool], size: int) -> list[Asking]:
    """Return the commands over `size` offers, whose files are made here."""
    found = []
    for tool in tools:
        if tool.name == "costplan":
            file = place.folder / f"{size}.jsonl"
            synthetic.write_jsonl(file, size)
            words = (str(tool.bin / "costplan"), "estimate", JOB, "--offers", str(file))
            found.append(Asking(tool, size, (*words, "--on", ON, "--format", "json"), {}))
        elif tool.name == "gpuhunt":
            folder = place.folder / str(size)
            folder.mkdir()
            synthetic.write_gpuhunt(folder / GPUHUNT_CATALOG, size)
            python = str(tool.bin / "python")
            variables = {"GPUHUNT_CATALOG_DIR": str(folder)}
            found.append(Asking(tool, size, (python, "-c", GPUHUNT_QUERY), variables))
    return found


def answered(asking: Asking, out: str) -> int:
    """Return how many offers are in the answer; each offer must be in it or left out.

    An offer that is sold in two ways is two in the answer.
    """
    if asking.tool.name != "costplan":
        return int(out)
    answer = json.loads(out)
    ranked = int(answer["offers_total"])
    if ranked + sum(reason["count"] for reason in answer["left_out"]) < asking.offers:
        raise SystemExit(f"costplan answers for fewer than {asking.offers} offers")
    return ranked


def many(
    place: Workplace, tools: Sequence[Tool], sizes: Sequence[int], runs: int
) -> tuple[list[Series], list[str]]:
    """Return the runs over every number of offers, in turns, and who cannot."""
    series, failed = [], []
    for size in (1, *sizes):  # 1: what starting costs, offers or not
        for asking in offer_commands(place, tools, size):
            say(f"warm-up: {asking.tool.name}, offers: {size:,}")
            first = run(place, asking.words, keep=True, variables=asking.variables)
            if first.status == 0:
                series.append(Series(asking, answered(asking, first.out), [], []))
            elif asking.tool.name == "costplan":
                raise SystemExit(f"costplan over {size} offers: exit {first.status}")
            else:
                failed.append(f"{asking.tool.name}, {size:,} offers: not run: exit {first.status}")
    for number in range(1, runs + 1):
        say(f"many offers, run {number} of {runs}")
        for one in series:
            found = run(place, one.asking.words, variables=one.asking.variables)
            one.seconds.append(found.seconds)
            one.peak_mb.append(found.peak_mb)
    return series, failed


def growths(series: Sequence[Series]) -> list[Growth]:
    """Return how each tool's time grows with the offers, its start-up taken off.

    From the least times: what else the machine does can only add to a run.
    """
    found = []
    for name in dict.fromkeys(one.asking.tool.name for one in series):
        own = {s.asking.offers: min(s.seconds) for s in series if s.asking.tool.name == name}
        start = own.pop(1, 0.0)
        each = {size: (seconds - start) / (size - 1) for size, seconds in own.items()}
        points = [
            (math.log(size), math.log(seconds - start))
            for size, seconds in own.items()
            if seconds > start
        ]
        exponent = slope(points) if len(points) > 1 else math.nan
        found.append(Growth(name, start, {n: s * 1e6 for n, s in each.items()}, exponent))
    return found


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the straight line nearest to `points`.

    >>> slope([(0, 1), (1, 3), (2, 5)])
    2.0
    """
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    across = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / across


# Tables


def judged(value: float, aim: float) -> str:
    """Return `met` or `missed`."""
    return "met" if value < aim else "**missed**"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; all columns but the first two to the right."""
    rule = ["---", "---", *["---:"] * (len(header) - 2)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *rows))


def startup_table(timed: Sequence[Timed]) -> str:
    """Return the start-up as Markdown."""
    rows = []
    for one in timed:
        tool, times = one.command.tool, median(one.multiples)
        aim = one.command.aim_x
        rows.append(
            (
                f"`{one.command.label}`",
                f"{tool.name} {tool.version}",
                f"{median(one.seconds) * 1e3:,.0f}",
                f"{min(one.seconds) * 1e3:,.0f}",
                f"{times:.1f}",
                "" if aim is None else f"< {aim:g}",
                "" if aim is None else judged(times, aim),
            )
        )
    header = ("command", "package", "median ms", "least ms", "x bare interpreter", "aim", "")
    return table(header, rows)


def many_row(one: Series, us_per_offer: Mapping[int, float]) -> tuple[str, ...]:
    """Return the row of one tool over one number of offers."""
    tool, size = one.asking.tool, one.asking.offers
    seconds, peak_mb = median(one.seconds), median(one.peak_mb)
    aimed = tool.name == "costplan" and size == MANY
    both = seconds if peak_mb < MANY_MB else math.inf
    return (
        f"{tool.name} {WORK[tool.name]}",
        tool.version,
        f"{size:,}",
        f"{one.ranked:,}",
        f"{seconds:.2f}",
        f"{us_per_offer[size]:.0f}" if size in us_per_offer else "",
        f"{peak_mb:.0f}",
        f"< {MANY_S:g} s, < {MANY_MB:g} MB" if aimed else "",
        judged(both, MANY_S) if aimed else "",
    )


def many_table(series: Sequence[Series], found: Sequence[Growth]) -> str:
    """Return the times over many offers as Markdown."""
    each = {growth.tool: growth.us_per_offer for growth in found}
    rows = [many_row(one, each[one.asking.tool.name]) for one in series]
    header = (
        "what",
        "version",
        "offers",
        "in the answer",
        "s",
        "us an offer",
        "peak MB",
        "aim",
        "",
    )
    return table(header, rows)


def growth_lines(found: Sequence[Growth]) -> list[str]:
    """Return a sentence on how each tool's time grows; only costplan has an aim."""
    lines = []
    for one in found:
        text = f"{one.tool}: {one.start_s:.2f} s to start; time grows with the number of offers"
        aim = f"; aim < {LINEAR:g}, linear: {judged(one.exponent, LINEAR)}"
        aim = aim if one.tool == "costplan" else ""
        lines.append(f"{text} to the power of {one.exponent:.2f}{aim}.")
    return lines


def report(results: Results) -> str:
    """Return everything as Markdown."""
    parts = [results.conditions]
    if results.timed:
        parts += ["Start-up:", startup_table(results.timed)]
    if results.series:
        found = growths(results.series)
        parts += ["Many offers:", many_table(results.series, found), *growth_lines(found)]
    parts += [f"- {text}" for text in results.failed]
    return "\n\n".join(parts) + "\n"


def as_json(results: Results) -> str:
    """Return every single run."""
    startup_runs = [
        {
            "command": one.command.label,
            "package": f"{one.command.tool.name} {one.command.tool.version}",
            "seconds": one.seconds,
            "multiples_of_bare": one.multiples,
            "aim_multiple": one.command.aim_x,
        }
        for one in results.timed
    ]
    offer_runs = [
        {
            "package": f"{one.asking.tool.name} {one.asking.tool.version}",
            "offers": one.asking.offers,
            "ranked": one.ranked,
            "seconds": one.seconds,
            "peak_mb": one.peak_mb,
        }
        for one in results.series
    ]
    growth = [found._asdict() for found in growths(results.series)]
    body = {"conditions": results.conditions, "startup": startup_runs, "offers": offer_runs}
    return json.dumps({**body, "growth": growth, "not_run": results.failed}, indent=1) + "\n"


def write_readme(text: str) -> None:
    """Put `text` between the markers of the README."""
    old = README.read_text(encoding="utf-8")
    before, _, rest = old.partition(MARKERS[0])
    _, marker, after = rest.partition(MARKERS[1])
    if not marker:
        raise SystemExit(f"{README.name} has lost its markers")
    new = f"{before}{MARKERS[0]}\n\n{text}\n{MARKERS[1]}{after}"
    README.write_text(new, encoding="utf-8")


# The whole


def conditions(version: str, runs: int) -> str:
    """Return on what and when it was measured."""
    day = datetime.now(tz=timezone.utc).date().isoformat()
    cpus, load = os.cpu_count() or 1, os.getloadavg()[0]
    busy = " (busy: the figures are noisy)" if load > cpus / 2 else ""
    return (
        f"{day}: costplan {version}, Python {platform.python_version()}, {cpus} CPUs, "
        f"{platform.system()} {platform.machine()}, load {load:.1f} at the start{busy}; medians of "
        f"{runs} runs for start-up, {min(runs, MANY_RUNS)} for many offers."
    )


def parsed() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=9, help="of each command (default 9)")
    parser.add_argument("--skip-peers", action="store_true", help="only costplan")
    parser.add_argument("--only", choices=("startup", "offers"), help="one of the two parts")
    parser.add_argument(
        "--quick", action="store_true", help=f"3 runs, and no more than {SIZES[-2]:,} offers"
    )
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md")
    return parser.parse_args()


def measured(asked: argparse.Namespace, place: Workplace) -> Results:
    """Return what was asked for."""
    tools, failed = [costplan()], []
    for package in () if asked.skip_peers else PEERS:
        if asked.only == "offers" and package != "gpuhunt":
            continue
        tool = peer(package)
        if isinstance(tool, str):
            failed.append(f"{package}: not run: {tool}")
        else:
            tools.append(tool)
    runs = min(asked.runs, 3) if asked.quick else asked.runs
    about = conditions(tools[0].version, runs)
    timed: list[Timed] = []
    series: list[Series] = []
    if asked.only != "offers":
        timed, no = startup(place, tools, runs)
        failed += no
    if asked.only != "startup":
        sizes = SIZES[:-1] if asked.quick else SIZES
        series, no = many(place, tools, sizes, min(runs, MANY_RUNS))
        failed += no
    return Results(about, timed, series, failed)


def main() -> None:
    """Measure and print."""
    asked = parsed()
    if asked.runs < 1:
        raise SystemExit("--runs: at least 1")
    with tempfile.TemporaryDirectory(prefix="costplan-bench-") as folder:
        results = measured(asked, workplace(Path(folder)))
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(as_json(results), encoding="utf-8")
    text = report(results)
    print(text)
    if asked.write:
        write_readme(text)


if __name__ == "__main__":
    main()
