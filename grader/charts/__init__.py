"""Pictures of kernels as Altair charts: `from grader import chart`, then `chart.access_map(…)`.

Each chart is a function from values to an `altair.Chart`; no chart runs a kernel. Text takes its colour from the page,
so one chart reads on a light and a dark ground; `dark=True` or `False` fixes it for a page that has no theme.
"""

from __future__ import annotations

from grader.charts.access_map import access_map
from grader.charts.counters_by_line import counters_by_line
from grader.charts.error_map import error_map
from grader.charts.heat_map import heat_map
from grader.charts.speedup import speedup
from grader.charts.thread_map import thread_map
from grader.charts.warp_steps import warp_steps

__all__ = ["CHARTS", "access_map", "counters_by_line", "error_map", "heat_map", "speedup", "thread_map", "warp_steps"]

# Every chart, for the contract that tests hold each to.
CHARTS = (access_map, counters_by_line, error_map, heat_map, speedup, thread_map, warp_steps)
