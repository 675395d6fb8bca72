"""Finds out which secrets a query was given, so that nothing that is written names them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from pyspark.sql import DataFrame, SparkSession

from penstock.engine.source_options import source_options
from penstock.secrets import keep_secrets_of


def learn_secrets(spark: SparkSession, frames: Iterable[DataFrame] = ()) -> None:
    """Hide the secrets in the settings of a session and in the options of what frames read.

    Nothing here may keep a query from starting: a source whose options can't be looked at is left
    to be recognised by its words.
    """
    with suppress(Exception):
        keep_secrets_of(dict(spark.sparkContext.getConf().getAll()))
        keep_secrets_of(spark.conf.getAll)
    for frame in frames:
        with suppress(Exception):
            for options in source_options(frame):
                keep_secrets_of(options)
