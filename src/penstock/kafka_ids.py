"""The header by which a consumer knows a Kafka record that was sent again.

Its value is ``query/batch/row``: the query's id, the micro-batch, and what tells the row from the
others of its batch, the same however often and in whatever tasks the batch runs.
"""

ID_HEADER = "penstock-id"
