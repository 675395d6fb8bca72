"""Columns that Penstock itself adds to rows."""

from __future__ import annotations

from pyspark.sql.types import StringType, StructField, StructType

from penstock.engine.python_step import LETTER_FIELDS

SOURCE_TAG = "_penstock_source"
TASK = "_penstock_task"
WATERMARK = "_watermark"
LETTER_TYPE = StructType([StructField(name, StringType(), True) for name in LETTER_FIELDS])
