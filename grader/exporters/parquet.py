"""Parquet: the columns of the CSV with their types, for analysis."""

from __future__ import annotations

import io

from grader.exporters.table import COLUMNS, records
from grader.gradebook import Gradebook

__all__ = ["write"]


def write(book: Gradebook) -> bytes:
    """The file."""
    import pyarrow as pa
    from pyarrow import parquet

    types = {"text": pa.string(), "number": pa.float64(), "yes-no": pa.bool_()}
    schema = pa.schema([(name, types[kind]) for name, (_, kind) in COLUMNS.items()])
    columns = list(zip(*records(book))) or [()] * len(COLUMNS)
    table = pa.table([pa.array(list(values), field.type) for values, field in zip(columns, schema)], schema=schema)
    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()
