"""What the machine does, apart from what any run tells: GPUs, processor, network, disk, setup.

Each source speaks for busy, idle or unknown in each look, or between two looks. One busy GPU of
many is a busy machine; a GPU that nobody can read is unknown, never idle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.records.signals import Evidence, GpuSeen, Says

if TYPE_CHECKING:
    from costplan.box.timeline import Look, Timeline
    from costplan.records.signals import ProcessSeen

GPU_IDLE_PERCENT: Final = 5.0
STUCK_PERCENT: Final = 90.0
"""A GPU this busy ..."""
STUCK_POWER: Final = 0.30
"""... that draws less than this share of its limit spins without computing."""
RELEASED_MB: Final = 1_024.0
"""What a driver and an empty context may hold."""
BUSY_BYTES_PER_S: Final = 1_000_000.0
BUSY_CORES: Final = 1.0
BUSY_CORES_OF_ONE: Final = 0.5
"""A single process that uses this much of a core works."""
SETUP_LONGEST_S: Final = 12 * 3_600.0
"""A downloader that is older is a service, such as a mounted bucket: its traffic counts, its
presence does not."""
SAME_START_S: Final = 1.0

SETUP: Final = {
    *("pip", "pip3", "apt", "apt-get", "dpkg", "yum", "dnf"),
    *("wget", "curl", "aria2c", "rsync", "scp", "sftp-server", "rclone", "s5cmd", "gsutil"),
    *("aws", "gcloud", "azcopy", "gdown", "kaggle", "huggingface-cli", "hf", "git-lfs"),
    *("git-remote-https", "tar", "unzip", "unrar", "7z", "zstd", "pigz"),
    *("ninja", "cmake", "cc1plus", "nvcc", "cicc", "ptxas"),
}
"""Without launchers, such as make, uv and conda: they live as long as what they launched."""
KERNELS: Final = {"ipykernel_launcher", "ipykernel"}
TRANSFERS: Final = ("network", "disk")
"""What moves data: loading and uploading are work, whatever stands still meanwhile."""


class Load(NamedTuple):
    """What the sources say over a time line."""

    told: tuple[Evidence, ...]
    """All of them, oldest look first."""
    quiet_s: float
    """How long, up to now, every source has been seen idle."""

    def said(self, verdict: str, *, within_s: float) -> list[Evidence]:
        """Return what was said for `verdict` in the last `within_s` seconds, latest first."""
        found = [each for each in self.told if each.verdict == verdict]
        return [each for each in reversed(found) if (each.age_s or 0.0) <= within_s]

    def latest(self) -> list[Evidence]:
        """Return the last word of each source."""
        return list({each.name: each for each in self.told}.values())


def load(line: Timeline) -> Load:
    """Return what the machine did over the looks of `line`."""
    told: list[Evidence] = []
    before: Look | None = None
    since, quiet = line.now.uptime_s, False
    for look in line.looks:
        between = [] if before is None else between_looks(before, look, line)
        at = at_look(look, line)
        told += between + at
        if any(each.verdict != "idle" for each in at):
            since = line.now.uptime_s
            quiet = False
        elif before is None or not quiet or any(each.verdict != "idle" for each in between):
            since, quiet = look.clock.uptime_s, True
        before = look
    return Load(tuple(told), line.now.uptime_s - since)


def at_look(look: Look, line: Timeline) -> list[Evidence]:
    """Return what a single look shows: the GPUs, and programs that load or install."""
    age_s = line.age_s(look)
    verdict, value = gpus(look)
    found = [Evidence(name="gpu", value=value, age_s=age_s, verdict=verdict)]
    at_work = [each for each in look.machine.processes or () if is_setup(each, look)]
    if at_work:
        named = ", ".join(sorted({each.program or each.name for each in at_work}))
        found.append(Evidence(name="setup", value=f"{named} at work", age_s=age_s, verdict="busy"))
    elif look.machine.processes is not None:
        value = "nothing loads or installs"
        found.append(Evidence(name="setup", value=value, age_s=age_s, verdict="idle"))
    return found


def is_setup(process: ProcessSeen, look: Look) -> bool:
    """Return whether a process loads, unpacks or installs something."""
    age_s = look.clock.wall_s - process.started_at_s
    names = {process.name, process.program}
    return bool(names & SETUP) and not process.zombie and age_s < SETUP_LONGEST_S


def gpus(look: Look) -> tuple[Says, str]:
    """Return what the GPUs speak for, all of them seen one by one."""
    found = look.machine.gpus
    if not found:
        reason = next((each for each in look.machine.problems), "the driver lists none")
        return "unknown", f"no GPU could be read: {reason}"
    working = [each for each in found if (each.util_percent or 0.0) > GPU_IDLE_PERCENT]
    if working:
        spinning = all(is_stuck(each) for each in working)
        return "hung" if spinning else "busy", "; ".join(figures(each) for each in working)
    for each in found:
        if each.util_percent is None:
            return "unknown", f"GPU {each.index} does not tell how busy it is"
        if not is_released(each, look):
            return "unknown", f"GPU {each.index} at 0 %, but {holders(each)} its memory"
    return "idle", f"all {len(found)} at {GPU_IDLE_PERCENT:g} % or below"


def figures(gpu: GpuSeen) -> str:
    """Return how busy a GPU is, in words.

    >>> figures(GpuSeen(index=1, name="T4", util_percent=100, power_watts=20, power_limit_watts=70))
    'GPU 1 at 100 %, 20 of 70 W'
    """
    power = ""
    if gpu.power_watts is not None and gpu.power_limit_watts is not None:
        power = f", {gpu.power_watts:.0f} of {gpu.power_limit_watts:.0f} W"
    return f"GPU {gpu.index} at {gpu.util_percent or 0:.0f} %{power}"


def is_stuck(gpu: GpuSeen) -> bool:
    """Return whether a GPU says that it is busy and draws too little power for that."""
    if not gpu.util_percent or not gpu.power_limit_watts or gpu.power_watts is None:
        return False
    low = gpu.power_watts < STUCK_POWER * gpu.power_limit_watts
    return low and gpu.util_percent >= STUCK_PERCENT


def is_released(gpu: GpuSeen, look: Look) -> bool:
    """Return whether nobody holds a GPU's memory, open notebooks left out."""
    if gpu.pids == () or (gpu.memory_used_mb is not None and gpu.memory_used_mb <= RELEASED_MB):
        return True
    kernels = {each.pid for each in look.machine.processes or () if each.program in KERNELS}
    return gpu.pids is not None and set(gpu.pids) <= kernels


def holders(gpu: GpuSeen) -> str:
    """Return who holds the memory of a GPU, in words."""
    if gpu.pids is None:
        return "nobody knows who holds"
    return f"process {', '.join(map(str, gpu.pids))} holds"


def between_looks(before: Look, after: Look, line: Timeline) -> list[Evidence]:
    """Return what only two looks can show: how much was computed, sent and stored."""
    apart_s, age_s = after.clock.uptime_s - before.clock.uptime_s, line.age_s(after)
    told = {
        "cpu": cores(before, after, apart_s),
        "network": rate(before.machine.network_bytes, after.machine.network_bytes, apart_s),
        "disk": growth(before.machine.disk_used_bytes, after.machine.disk_used_bytes, apart_s),
    }
    return [
        Evidence(name=name, value=value, age_s=age_s, verdict=verdict)
        for name, (verdict, value) in told.items()
    ]


def cores(before: Look, after: Look, apart_s: float) -> tuple[Says, str]:
    """Return whether processes computed between two looks."""
    if before.machine.processes is None or after.machine.processes is None:
        return "unknown", "the process table cannot be read in full"
    earlier = {each.pid: each for each in before.machine.processes}
    used = {each: cpu_since(earlier.get(each.pid), each) for each in after.machine.processes}
    most = max(used, key=lambda each: used[each], default=None)
    total = sum(used.values()) / apart_s
    if most is None:
        return "unknown", "the process table is empty"
    busy = total > BUSY_CORES or used[most] / apart_s > BUSY_CORES_OF_ONE
    named = f", most by {most.program or most.name}" if busy else ""
    return "busy" if busy else "idle", f"{total:.2f} cores in use{named}"


def cpu_since(earlier: ProcessSeen | None, process: ProcessSeen) -> float:
    """Return the CPU seconds of a process since an earlier look, all of them where it is new."""
    if earlier is None or abs(earlier.started_at_s - process.started_at_s) > SAME_START_S:
        return process.cpu_s
    return max(process.cpu_s - earlier.cpu_s, 0.0)


def rate(before: int | None, after: int | None, apart_s: float) -> tuple[Says, str]:
    """Return whether the network moved data between two looks."""
    if before is None or after is None or after < before:
        return "unknown", "the network counters cannot be read"
    per_s = (after - before) / apart_s
    return "busy" if per_s > BUSY_BYTES_PER_S else "idle", f"{per_s / 1e6:.2f} MB/s"


def growth(before: int | None, after: int | None, apart_s: float) -> tuple[Says, str]:
    """Return whether the disk filled between two looks."""
    if before is None or after is None:
        return "unknown", "the disk cannot be read"
    per_s = max(after - before, 0) / apart_s
    return "busy" if per_s > BUSY_BYTES_PER_S else "idle", f"fills at {per_s / 1e6:.2f} MB/s"
