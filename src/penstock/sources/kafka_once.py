"""The consumer's side of ``ps.sinks.kafka``: each row once, however often it was sent."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.classic_session import require_classic
from penstock.errors import ConfigurationError
from penstock.kafka_ids import ID_HEADER
from penstock.windows.durations import Duration, in_words, microseconds

_NEEDED = ("headers", "topic", "partition", "offset")
_SEEN_AT = "penstock_seen_at"


def kafka_once(records: DataFrame, within: Duration | None = None) -> DataFrame:
    """Leave out records that ``ps.sinks.kafka`` sent again, and add the column ``penstock_id``.

    Parameters
    ----------
    records
        What Spark's Kafka source gave, a table or a stream, with ``includeHeaders`` set. Records
        of others, without the header, are all kept: their id is topic, partition and offset.
    within
        For a stream, how long ids are remembered after they were first read, such as ``"1 day"``:
        longer than the job that writes may be down, or this one. Too short a time lets repeats
        through and loses nothing.

    """
    records = require_classic(records)
    missing = [name for name in _NEEDED if name not in records.columns]
    if missing:
        raise ConfigurationError(
            f"kafka_once needs the column '{missing[0]}' of Spark's Kafka source. Read it with "
            f".option('includeHeaders', 'true'), and call kafka_once before any select"
        )
    if records.isStreaming == (within is None):
        raise ConfigurationError(
            "a stream can't remember ids for ever. Write kafka_once(records, within='1 day')"
            if within is None
            else "kafka_once of a table compares all ids. Leave within out"
        )
    own = F.filter("headers", lambda header: header["key"] == ID_HEADER)
    place = F.concat_ws("/", "topic", "partition", "offset")
    known = records.withColumn(
        "penstock_id", F.coalesce(F.get(own, F.lit(0))["value"].cast("string"), place)
    )
    if within is None:
        return known.dropDuplicates(["penstock_id"])
    remembered = in_words(microseconds(within))
    # By the time of reading, not the record's own: Spark drops rows older than a watermark,
    # and no row is older than the moment it is read.
    timed = known.withColumn(_SEEN_AT, F.current_timestamp()).withWatermark(_SEEN_AT, remembered)
    return timed.dropDuplicatesWithinWatermark(["penstock_id"]).drop(_SEEN_AT)
