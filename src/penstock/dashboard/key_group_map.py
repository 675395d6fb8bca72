"""Which task owns which key group, as a field of coloured boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.dashboard.charts import COLOURS, SOFT, TIP


def key_group_map(owners: Sequence[int]) -> dict[str, Any]:
    """Draw key groups as a field of boxes, coloured by the task that owns each."""
    columns = _columns(len(owners))
    rows = -(-len(owners) // columns)
    return {
        "animation": False,
        "aria": {"enabled": True},
        "grid": {"left": 4, "right": 4, "top": 4, "bottom": 44},
        "tooltip": TIP,
        "xAxis": {"type": "category", "data": list(range(columns)), "show": False},
        "yAxis": {"type": "category", "data": list(range(rows)), "show": False, "inverse": True},
        "visualMap": {
            **_tasks_as_colours(max(owners, default=0)),
            "orient": "horizontal",
            "left": "center",
            "bottom": 0,
            "textStyle": {"color": SOFT},
        },
        "series": [
            {
                "name": "task",
                "type": "heatmap",
                "data": [[n % columns, n // columns, owner] for n, owner in enumerate(owners)],
                "itemStyle": {"borderColor": "rgba(255,255,255,0.6)", "borderWidth": 1},
            }
        ],
    }


def _columns(boxes: int) -> int:
    """Return how many boxes lie side by side in a field that is about twice as wide as high.

    >>> _columns(8), _columns(128), _columns(256)
    (4, 16, 32)
    """
    columns = 1
    while columns * columns < 2 * boxes:
        columns *= 2
    return columns


def _tasks_as_colours(most: int) -> dict[str, Any]:
    """Give each task a colour and a name; of more tasks than colours, a scale."""
    if most < len(COLOURS):
        pieces = [
            {"value": task, "label": f"task {task}", "color": COLOURS[task]}
            for task in range(most + 1)
        ]
        return {"type": "piecewise", "pieces": pieces, "itemGap": 12}
    return {
        "type": "continuous",
        "min": 0,
        "max": most,
        "text": [f"task {most}", "task 0"],
        "inRange": {"color": list(COLOURS)},
        "precision": 0,
    }
