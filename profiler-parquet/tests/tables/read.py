"""Reads tables for the test beside it: `read.py duckdb|pyarrow FILE`, or `read.py query FOLDER` with
a statement on standard input, which may name files of the folder. Prints JSON."""

import json
import os
import struct
import sys


def exact(value):
    """A value as JSON that loses nothing: a float as its bits."""
    if isinstance(value, float):
        return {"float": struct.unpack("<Q", struct.pack("<d", value))[0]}
    if isinstance(value, (list, tuple)):
        return [exact(item) for item in value]
    return value


def answer(relation):
    rows = relation.fetchall()
    return {"columns": relation.columns, "rows": exact(rows)}


def duckdb_table(path):
    import duckdb

    statement = "SELECT * FROM read_parquet(?) ORDER BY event"
    relation = duckdb.sql(statement, params=[path])
    statement = "SELECT decode(key), decode(value) FROM parquet_kv_metadata(?)"
    metadata = duckdb.sql(statement, params=[path]).fetchall()
    return {**answer(relation), "types": [str(item) for item in relation.types],
            "metadata": dict(metadata)}


def pyarrow_table(path):
    import pyarrow
    import pyarrow.ipc

    with pyarrow.memory_map(path) as file:
        table = pyarrow.ipc.open_file(file).read_all()
        table.validate(full=True)
        columns = [exact(column.to_pylist()) for column in table.columns]
        metadata = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
        return {"columns": table.column_names, "rows": list(zip(*columns)),
                "types": [str(field.type) for field in table.schema], "metadata": metadata}


def query(folder):
    import duckdb

    os.chdir(folder)
    return answer(duckdb.sql(sys.stdin.read()))


READERS = {"duckdb": duckdb_table, "pyarrow": pyarrow_table, "query": query}
json.dump(READERS[sys.argv[1]](sys.argv[2]), sys.stdout)
