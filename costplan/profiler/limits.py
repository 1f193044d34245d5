"""The lines that verdicts are drawn along, each with where it comes from."""

from __future__ import annotations

from typing import Final

LOADER_SHARE: Final = 0.10
"""xprof calls a step input-bound from 10 % on."""
WAIT_SHARE: Final = 0.05
"""torch's TensorBoard plugin advises on the loader above 5 % of the step."""
SMALLEST_SHARE: Final = 0.05
"""TensorFlow's input analyzer starts at 5 %: less is not worth a word, and no advice."""
GPU_SHARE: Final = 0.85
"""Between LibreYOLO's 80 % and TraceML's 90 %; a V100 with its queue full shows 97 %, one that
its host holds up 72 %."""
NEAR_SHARE: Final = 0.10
"""Savings that differ by less are not told apart: that much the bursts themselves err."""
CLEAR_RATIO: Final = 2.5
"""Work whose fix saves so many times what a loader's does is the word, though that saves 10 %:
handing a batch over from a worker takes 1 to 2 ms whatever the loader does. Chosen on two cores."""
HOST_EXPONENT: Final = 0.3
GPU_EXPONENT: Final = 0.5
"""On two cores a chain of 150 small layers measures 0.0 to 0.06, a compute-bound net 0.5 to
0.85."""
FASTER_THAN_BATCH: Final = 1.2
"""Neither a loader nor a host slows down faster than the batch grows."""
MOST_ERROR_SHARE: Final = 0.10
GOOD_ERROR_SHARE: Final = 0.03
"""Logs per step of 2,000 public runs: 15 steady steps are within 1 to 3 %."""
LEAST_STEPS: Final = 20
"""TraceML's line for a confident word."""
KEEPS_UP_SHARE: Final = 0.9
"""A loader that alone takes this part of the step, or more, sets its pace."""

LAUNCH_S: Final = 5e-6
"""What the host needs to launch one kernel from a framework, at best."""
LAUNCH_SHARE: Final = 0.6
"""Launches alone then take more than all else together, and each of them costs more than that."""
BLOCKED_SHARE: Final = 0.10
"""fournex's line for synchronising calls."""
BLOCKED_GPU_SHARE: Final = 0.5
"""While the host is held the device works: more than all else of the step together."""
AHEAD_SHARE: Final = 0.25
"""Of a step, from launch to start: a V100 with its queue full shows 0.96, one held up by its host
2 to 5 ms of 140, which is 0.01 to 0.04."""
CAUGHT_UP_SHARE: Final = 0.05
"""Above all that the V100 shows where its host holds it up."""
LEAST_LEAD_S: Final = 1e-3
"""An event alone comes tens of microseconds late; a full queue of 1,000 launches of a few
microseconds each lasts for milliseconds."""
OPTIMIZER_SHARE: Final = 0.5
"""More than all else of the step together."""
MEMORY_CALLS: Final = 5.0
"""LibreYOLO's line for allocations per step."""
MEMORY_RETRIES: Final = 0.05
"""Each empties the allocator's cache and waits for the device. A step that fits has none, and one
in 20 steps is seen in every burst that counts."""
COLD_RATIO: Final = 1.2
"""Files read again are faster by more than a sweep of workers differs when repeated."""
SAVED_RATIO: Final = 0.9
"""What a change must leave of the time to be the cause of it."""
FULL_SHARE: Final = 0.9
WEAK_POWER_SHARE: Final = 0.7
"""An H100 that fell back to a slow algorithm drew 430 of 700 W while it was always in use."""
BRAKED_SHARE: Final = 0.10
"""Of the samples: as large a part as is worth a verdict elsewhere."""
CLOCK_SHARE: Final = 0.9
"""Of the highest clock. Cards run at their power limit by design; a B200 at 0.80 of its clock (1580
of 1965 MHz) lost 15 % of its speed by it."""
DRIFT_SHARE: Final = 0.05
"""Steady clocks differ by less; that of the B200 fell by 20 % in 70 steps."""
