"""Columns that Penstock itself adds to rows."""

from __future__ import annotations

from pyspark.sql.types import StringType, StructField, StructType

from penstock.engine.python_step import LETTER_FIELDS
from penstock.windows.segments import DIRECTORY

SOURCE_TAG = "_penstock_source"
TASK = "_penstock_task"
HASH = "_penstock_hash"
ARRIVAL = "_penstock_arrival"
PANE = "_penstock_pane"
WIDTH = "_penstock_width"
KEY = "_penstock_key_"
SEGMENT = DIRECTORY
TARGET = "_penstock_target"
SIGN = "_penstock_sign"
MISSED = "_missed"
WINDOW = "window"
WINDOW_NAME = "window_name"
IS_FINAL = "is_final"
WATERMARK = "_watermark"
WINDOW_TYPE = "struct<start:timestamp,end:timestamp>"
MISSED_TYPE = "array<struct<name:string,start:timestamp,end:timestamp>>"
TIME_TYPES = ("timestamp", WINDOW_TYPE)
LETTER_TYPE = StructType([StructField(name, StringType(), True) for name in LETTER_FIELDS])
