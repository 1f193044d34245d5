"""The founding example: 8x RTX 4090 with 250 GB of disk, to the cent, from the library.

The invoice said $3.4828/h running and $0.0694/h stopped. Only a month of 720 hours gives the
second figure, and only a running rate that already holds the disk gives the first.
"""

from decimal import Decimal

from costplan.advisor import border_hours, rebuild_usd
from costplan.billing import requote

GPUS = 8
GPU_USD_PER_HOUR = Decimal("0.32") * 4 / 3  # 0.426667: what the host asks, plus the market's third
DISK_GB = Decimal(250)
DISK_USD_PER_GB_MONTH = Decimal("0.20")
SETUP_HOURS = Decimal(15) / 60
INGRESS_GB = Decimal(43)
INGRESS_USD_PER_GB = Decimal("0.003")
INVOICED_RUNNING_USD_PER_HOUR = Decimal("3.4828")


def running_usd_per_hour(month_hours: Decimal) -> Decimal:
    """Return the price of all GPUs with the disk inside."""
    return requote(
        GPUS * GPU_USD_PER_HOUR,
        quoted_disk_gb=Decimal(0),
        disk_gb=DISK_GB,
        usd_per_gb_month=DISK_USD_PER_GB_MONTH,
        month_hours=month_hours,
    )


def stop_border_hours(running: Decimal, stopped: Decimal) -> tuple[Decimal, Decimal]:
    """Return the rebuild in dollars and the hours for which stop beats destroy."""
    rebuild = rebuild_usd(
        running_usd_per_hour=running,
        setup_hours=SETUP_HOURS,
        ingress_gb=INGRESS_GB,
        ingress_usd_per_gb=INGRESS_USD_PER_GB,
    )
    return rebuild, border_hours(one_off_usd=rebuild, saved_usd_per_hour=stopped)


def lines() -> list[str]:
    """Return the example as text, one figure a line."""
    text = []
    for month_hours in (Decimal(720), Decimal(730)):
        stopped = DISK_GB * DISK_USD_PER_GB_MONTH / month_hours
        running = running_usd_per_hour(month_hours)
        rebuild, border = stop_border_hours(running, stopped)
        keep = border_hours(one_off_usd=rebuild, saved_usd_per_hour=running)
        text += [
            f"month of {month_hours} hours",
            f"  stopped            {stopped:.6f} $/h = 250 GB x 0.20 / {month_hours}",
            f"  running            {running:.6f} $/h = 8 x {GPU_USD_PER_HOUR:.6f} + {stopped:.6f}",
            f"  rebuild            {rebuild:.6f} $   = 0.25 h x {running:.6f} + 43 GB x 0.003",
            f"  stop beats destroy for {border:.3f} h",
            f"  keep beats destroy for {keep * 60:.1f} min",
        ]
    stopped = DISK_GB * DISK_USD_PER_GB_MONTH / 730
    _, border = stop_border_hours(INVOICED_RUNNING_USD_PER_HOUR, stopped)
    text.append(f"month of 730 hours with the invoiced 3.4828 $/h taken as given: {border:.3f} h")
    return text


if __name__ == "__main__":
    print("\n".join(lines()))
