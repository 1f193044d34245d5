"""What the measured box says, GPUs and torch apart: a line for each thing looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from costplan.records.checks import CheckLine
from costplan.transfers import DOWN_MBIT
from costplan.units import transfer_s
from costplan.usable import (
    amount_level,
    cost,
    down_mbit_per_s,
    duration,
    share_level,
    usable_cores,
    usable_ram_gb,
    usd,
)

if TYPE_CHECKING:
    from decimal import Decimal

    from costplan.records.checks import (
        BoxFacts,
        CacheFacts,
        CpuFacts,
        DiskFacts,
        DownloadFacts,
        Level,
        MemoryFacts,
        Needs,
        Promised,
        RunFacts,
        ShmFacts,
    )

OVERSUBSCRIBED: Final = 2.0
"""Reported cores over usable ones: programs that start a worker for each reported core then
share each core in two. Chosen; NVlabs/GCVit issue 14 had 8 busy workers on 64 cores."""
SLOW_MILLION_STEPS: Final = 4.0
"""A second, of the loop of `box.measure.score`. Half of what a shared virtual core of a cloud did
with Python 3.11 (7 to 9); a core of a desktop does 15 and more."""
DOCKER_SHM_BYTES: Final = 64 * 1_048_576
"""What Docker gives where nobody asks for more (its manual, `--shm-size`)."""
SMALL_SHM_BYTES: Final = 1_000_000_000
"""Eight workers with two batches of 256 images of 224 x 224 in floats each would hold 2.5 GB, in
bytes 0.6. Chosen between."""
FREE_GB: Final = 10.0
"""Where no job is given: what an environment alone takes (see `work.DEFAULTS`)."""
SLOW_COLD_MB_PER_S: Final = 100.0
"""A spinning disk or a shared one. 900 images of ImageNet a second at their mean of 110 kB."""
FADING: Final = {"tmpfs", "ramfs"}
LAYERS: Final = {"overlay", "aufs"}
BUSY_CPU_S: Final = 60.0
"""A process without a GPU that has computed this long may be a training run. Chosen."""


def cores(cpu: CpuFacts, needs: Needs | None) -> CheckLine:
    """Return what the cores say: usable ones against reported and needed ones."""
    usable = usable_cores(cpu)
    if usable is None:
        return CheckLine(name="cores", level="unknown", says="nobody tells how many there are")
    says = f"{usable:.3g} usable"
    if cpu.reported is not None and usable < cpu.reported:
        says += f" of {cpu.reported} that os.cpu_count() reports ({_held_by(cpu)})"
    if needs is not None and needs.cores is not None and amount_level(needs.cores, usable) != "ok":
        says += f", the job asks for {needs.cores:g}"
        todo = "expect the loader to set the pace, or rent more cores"
        return CheckLine(name="cores", level="warn", says=says, todo=todo)
    if cpu.reported is not None and cpu.reported >= OVERSUBSCRIBED * usable:
        most = max(1, int(usable))
        todo = f"set num_workers and OMP_NUM_THREADS by hand: {most} in all"
        return CheckLine(name="cores", level="warn", says=says, todo=todo)
    return CheckLine(name="cores", level="ok", says=says)


def _held_by(cpu: CpuFacts) -> str:
    if cpu.quota_cores is not None and (cpu.affinity is None or cpu.quota_cores < cpu.affinity):
        return f"quota of {cpu.quota_from}"
    return "affinity"


def single_thread(cpu: CpuFacts) -> CheckLine:
    """Return what the single-thread score says."""
    if cpu.million_steps_per_s is None:
        return CheckLine(name="one thread", level="unknown", says="the clock stood still")
    says = f"{cpu.million_steps_per_s:.1f} million steps/s"
    if cpu.million_steps_per_s < SLOW_MILLION_STEPS:
        todo = "a slow or crowded processor: host-bound jobs will crawl; compare another box"
        return CheckLine(name="one thread", level="warn", says=says, todo=todo)
    return CheckLine(name="one thread", level="ok", says=says)


def main_memory(memory: MemoryFacts, needs: Needs | None) -> CheckLine:
    """Return what the main memory says."""
    usable = usable_ram_gb(memory)
    if usable is None:
        return CheckLine(name="memory", level="unknown", says="nobody tells how much there is")
    says = f"{usable:.1f} GB usable"
    if memory.limit_bytes is not None and memory.limit_bytes < (memory.total_bytes or 0):
        says += f" of the machine's {(memory.total_bytes or 0) / 1e9:.0f} (limit of the container)"
    if needs is not None and needs.ram_gb is not None:
        says += f", the job asks for {needs.ram_gb:g}"
        if amount_level(needs.ram_gb, usable) != "ok":
            todo = "rent a box with more memory: a killed loader loses the run"
            return CheckLine(name="memory", level="fail", says=says, todo=todo, fault="box")
    return CheckLine(name="memory", level="ok", says=says)


def shared_memory(shm: ShmFacts) -> CheckLine:
    """Return what `/dev/shm` says."""
    if shm.total_bytes is None:
        return CheckLine(name="/dev/shm", level="unknown", says=shm.problem or "nobody tells")
    says = f"{shm.total_bytes / 1e9:.3g} GB"
    todo = "rent with --shm-size=8g or --ipc=host; until then num_workers=0"
    if shm.total_bytes <= DOCKER_SHM_BYTES:
        says += ": Docker's default, on which the workers of a DataLoader die of a bus error"
        return CheckLine(name="/dev/shm", level="fail", says=says, todo=todo, fault="box")
    if shm.total_bytes < SMALL_SHM_BYTES:
        return CheckLine(name="/dev/shm", level="warn", says=says, todo=todo)
    return CheckLine(name="/dev/shm", level="ok", says=says)


def disk_size(disk: DiskFacts, needs: Needs | None) -> CheckLine:
    """Return what the size of the disk says, against the job's need where there is one."""
    if disk.total_bytes is None or disk.free_bytes is None:
        return CheckLine(name="disk", level="unknown", says=disk.problem or "nobody tells")
    free_gb, total_gb = disk.free_bytes / 1e9, disk.total_bytes / 1e9
    says = f"{free_gb:.1f} GB free of {total_gb:.1f}"
    if needs is None:
        if free_gb < FREE_GB:
            todo = "torch and its caches alone take 10 GB: rent a larger disk"
            return CheckLine(name="disk", level="warn", says=says, todo=todo)
        return CheckLine(name="disk", level="ok", says=f"{says}; --job compares with its need")
    says += f", the job needs {needs.needed_gb:.1f}"
    # What is installed already lies on the disk, so it may be missing from what is free.
    if total_gb < needs.needed_gb or free_gb < needs.needed_gb - needs.environment_gb:
        todo = f"a rented disk cannot grow: rent with {needs.wanted_gb:.0f} GB"
        return CheckLine(name="disk", level="fail", says=says, todo=todo, fault="box")
    if free_gb < needs.wanted_gb - needs.environment_gb:
        todo = f"tight: {needs.wanted_gb:.0f} GB leave headroom; keep fewer checkpoints"
        return CheckLine(name="disk", level="warn", says=says, todo=todo)
    return CheckLine(name="disk", level="ok", says=says)


def disk_speed(disk: DiskFacts, given: Promised | None) -> CheckLine:
    """Return what reading the disk says, cold against a promise and against slow disks."""
    warm = "" if disk.warm_mb_per_s is None else f", warm {disk.warm_mb_per_s:.0f}"
    promised = None if given is None else given.disk_mb_per_s
    if disk.cold_mb_per_s is None:
        why = disk.speed_problem or disk.problem or "not read"
        return CheckLine(name="disk read", level="unknown", says=f"cold unknown: {why}{warm}")
    cold = disk.cold_mb_per_s
    level: Level = "ok" if cold >= SLOW_COLD_MB_PER_S else "warn"
    if promised is None:
        says = f"{cold:.0f} MB/s cold{warm}"
    else:
        says = f"{cold:.0f} of {promised:.0f} MB/s promised cold{warm}"
        kept = share_level(promised, cold)
        level = level if kept == "ok" else kept
    if level == "fail":
        todo = "return it: loaders wait for this disk in the first epoch"
        return CheckLine(name="disk read", level=level, says=says, todo=todo, fault="box")
    todo = "copy the data to a faster disk, or into /dev/shm, before the first epoch"
    return CheckLine(name="disk read", level=level, says=says, todo=None if level == "ok" else todo)


def line_down(
    download: DownloadFacts | None,
    given: Promised | None,
    needs: Needs | None,
    usd_per_hour: Decimal | None,
) -> CheckLine | None:
    """Return what the line says, in minutes and money; None where nobody asked or promised."""
    promised = None if given is None else given.down_mbit_per_s
    if download is None:
        if promised is None:
            return None
        says = f"{promised:.0f} Mbit/s promised, not measured"
        todo = "--download URL: a large file near the data"
        return CheckLine(name="download", level="unknown", says=says, todo=todo)
    speed = down_mbit_per_s(download)
    if speed is None:
        return CheckLine(name="download", level="unknown", says=_too_little(download))
    level: Level = "ok" if speed >= DOWN_MBIT.low else "warn"
    says = f"{speed:.0f} Mbit/s from {download.host}"
    if promised is not None:
        says = f"{speed:.0f} of {promised:.0f} Mbit/s promised"
        kept = share_level(promised, speed)
        level = level if kept == "ok" else kept
    says += _costs(needs, speed, usd_per_hour)
    if level == "fail":
        todo = "return it before the data set is on its way"
        return CheckLine(name="download", level=level, says=says, todo=todo, fault="box")
    todo = "try another address once; stage the data on a hub near the box"
    return CheckLine(name="download", level=level, says=says, todo=None if level == "ok" else todo)


def _costs(needs: Needs | None, speed: float, usd_per_hour: Decimal | None) -> str:
    if needs is None or not needs.incoming_gb:
        return ""
    takes_s = transfer_s(needs.incoming_gb, mbit_per_s=speed)
    money = "" if usd_per_hour is None else f" = {usd(cost(usd_per_hour, takes_s))}"
    return f", {needs.incoming_gb:.3g} GB = {duration(takes_s)}{money}"


def _too_little(download: DownloadFacts) -> str:
    came = f"{download.received_bytes / 1e6:.1f} MB"
    if download.problem is not None:
        return (
            download.problem if not download.received_bytes else f"{download.problem} after {came}"
        )
    if download.expected_bytes is not None and download.received_bytes < download.expected_bytes:
        return f"{download.host} ended after {came} of {download.expected_bytes / 1e6:.1f} MB"
    return f"{came} from {download.host} is too little to tell a speed: name a larger file"


def caches(found: tuple[CacheFacts, ...]) -> CheckLine:
    """Return whether what libraries download outlives a restart or the container."""
    unknown = [each.name for each in found if each.fstype is None]
    lost = [each for each in found if each.fstype in FADING | LAYERS]
    if lost:
        where = "; ".join(f"{each.name} {each.path} on {each.fstype}" for each in lost)
        memory = any(each.fstype in FADING for each in lost)
        gone = "goes with a restart" if memory else "goes with the container"
        todo = "export them to a folder on a volume before the first download"
        return CheckLine(name="caches", level="warn", says=f"{where}: {gone}", todo=todo)
    if unknown or not found:
        says = f"nobody tells on which disk {', '.join(unknown) or 'they'} lie"
        return CheckLine(name="caches", level="unknown", says=says)
    kinds = ", ".join(sorted({each.fstype or "" for each in found}))
    return CheckLine(name="caches", level="ok", says=f"on {kinds}, which outlives a restart")


def terminals(box: BoxFacts) -> CheckLine:
    """Return whether a run here dies when ssh does."""
    if box.runs is None:
        says = box.runs_problem or "the process table cannot be read"
        return CheckLine(name="terminal", level="unknown", says=says)
    found = [run for run in box.runs if hangs(run)]
    if found:
        named = ", ".join(f"{run.name} ({run.pid})" for run in found)
        says = f"{named} will get a hangup when its ssh session ends"
        todo = "start it in tmux or screen, or with nohup or setsid"
        return CheckLine(name="terminal", level="warn", says=says, todo=todo)
    return CheckLine(name="terminal", level="ok", says="no run hangs on an ssh terminal")


def hangs(run: RunFacts) -> bool:
    """Return whether a process works and ends with the terminal that ssh opened for it."""
    works = run.holds_gpu or run.cpu_s >= BUSY_CPU_S
    return works and run.on_terminal and run.under_ssh and not run.ignores_hangup
