"""QuestDB's Python client reads a running store; every value is compared, row by row, with pyarrow's or databento-dbn's own reading.

    read.py TICKSCOPE DATA

TICKSCOPE is the built program, DATA the directory of market data. Ends with a line in cargo's form, which `./test` counts.
"""

import datetime
import decimal
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import databento_dbn
import pyarrow as pa
import pyarrow.parquet as pq
import questdb

NANOS = pa.timestamp("ns", tz="UTC")
ROWS = 40_000  # more than two batches


class Store:
    """A server over some files, until the block ends."""

    def __init__(self, program, *files):
        command = [program, "serve", "--no-cache", "--quiet", "--port", "0", *map(str, files)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        address = self.process.stdout.readline().strip()
        if not address:
            raise Refused(self.process.stderr.read().strip())
        self.address = address.removeprefix("http://").rstrip("/")
        deadline = time.monotonic() + 120
        while True:
            tables = self.table("SELECT table_name, table_row_count FROM tables()").to_pydict()
            if None not in tables["table_row_count"]:
                self.tables = tables["table_name"]
                return self
            if time.monotonic() > deadline:
                raise AssertionError(f"not imported in time: {tables}")
            time.sleep(0.05)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def table(self, sql, options=""):
        with questdb.connect(f"ws::addr={self.address};sender_pool_min=0;{options}") as db, db.query(sql) as result:
            return result.to_arrow()


class Refused(Exception):
    """The program does not take such a file."""


def bits(array):
    """The values as they lie, so that NaN equals itself and −0 does not equal 0."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_floating(array.type):
        return array.view({16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[array.type.bit_width])
    return array


def same(name, got, expected):
    assert got.type == expected.type, f"{name}: expected {expected.type}, got {got.type}"
    assert len(got) == len(expected), f"{name}: expected {len(expected)} rows, got {len(got)}"
    got, expected = bits(got), bits(expected)
    if not got.equals(expected):
        got, expected = got.to_pylist(), expected.to_pylist()
        row = next((row for row, pair in enumerate(zip(got, expected)) if repr(pair[0]) != repr(pair[1])), None)
        if row is not None:
            raise AssertionError(f"{name}, row {row}: expected {expected[row]!r}, got {got[row]!r}")


def every_type():
    """Columns of a Parquet file, and the type in which a client gets each: with nulls, extremes, and values of no pattern."""

    def column(data_type, *extremes, nulls=True, fill=lambda row: row % 100):
        values = [*extremes, *(fill(row) for row in range(ROWS - len(extremes)))]
        if nulls:
            values = [None if row % 7 == 3 and row > len(extremes) else value for row, value in enumerate(values)]
        return pa.array(values, data_type)

    def number(data_type, low, high, to, nulls=True):
        return column(data_type, low, high, 0, nulls=nulls), to

    def real(data_type, to):
        return column(data_type, float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 5e-324, fill=lambda row: row / 8), to

    def moment(data_type, to, unit):
        return column(data_type, -1, 0, 253_402_300_799 * unit if unit <= 10**6 else 2**63 - 1, fill=lambda row: row * unit), to

    symbol = pa.dictionary(pa.uint32(), pa.string())
    texts = ["", "é😀", "a\0b", "x" * 5_000]
    text = lambda row: f"text {row * 7919 % 1_000}"
    day = datetime.date(1970, 1, 1)
    wide = decimal.Decimal
    columns = {
        "ts": (pa.array(range(ROWS), NANOS), NANOS),
        "i8": number(pa.int8(), -(2**7), 2**7 - 1, pa.int8(), nulls=False),
        "i16": number(pa.int16(), -(2**15), 2**15 - 1, pa.int16(), nulls=False),
        "u8": number(pa.uint8(), 0, 2**8 - 1, pa.int16(), nulls=False),
        "bool": (column(pa.bool_(), nulls=False, fill=lambda row: row % 3 == 0), pa.bool_()),
        # Types without a null on the wire travel as INT where they hold one.
        "i8_null": number(pa.int8(), -(2**7), 2**7 - 1, pa.int32()),
        "i16_null": number(pa.int16(), -(2**15), 2**15 - 1, pa.int32()),
        "u8_null": number(pa.uint8(), 0, 2**8 - 1, pa.int32()),
        "bool_null": (column(pa.bool_(), fill=lambda row: row % 3 == 0), pa.int32()),
        "i32": number(pa.int32(), -(2**31), 2**31 - 1, pa.int32()),
        "i64": number(pa.int64(), -(2**63), 2**63 - 1, pa.int64()),
        "u16": number(pa.uint16(), 0, 2**16 - 1, pa.int32()),
        "u32": number(pa.uint32(), 0, 2**32 - 1, pa.int64()),
        "u64": number(pa.uint64(), 0, 2**63 - 1, pa.int64()),
        "f16": (column(pa.float16(), float("inf"), -0.0, 65504.0, fill=lambda row: row % 128 / 8), pa.float32()),
        "f32": real(pa.float32(), pa.float32()),
        "f64": real(pa.float64(), pa.float64()),
        "text": (column(pa.string(), *texts, fill=text), pa.string()),
        "large_text": (column(pa.large_string(), *texts, fill=text), pa.string()),
        "symbol": (column(pa.string(), "", "é😀", fill=text).dictionary_encode(), symbol),
        "binary": (column(pa.binary(), b"", b"\0\xff", fill=lambda row: bytes([row % 256])), pa.binary()),
        "fixed": (column(pa.binary(5), b"\0" * 5, fill=lambda row: row.to_bytes(5, "big")), pa.binary()),
        "time_us": moment(pa.timestamp("us"), pa.timestamp("us", "UTC"), 10**6),
        "time_ms": moment(pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC"), 10**3),
        "time_ns": moment(pa.timestamp("ns", "America/New_York"), NANOS, 10**9),
        "day": (column(pa.date32(), day, fill=lambda row: day + datetime.timedelta(row)), pa.timestamp("ms", "UTC")),
        "clock_ms": (column(pa.time32("ms"), 86_399_999, fill=lambda row: row), pa.int64()),
        "clock_ns": (column(pa.time64("ns"), 86_399_999_999_999, fill=lambda row: row), pa.int64()),
        "span_ns": (column(pa.duration("ns"), -(2**63), 2**63 - 1, fill=lambda row: row), pa.int64()),
        "decimal9": (column(pa.decimal128(9, 2), wide("-9999999.99"), wide("9999999.99"), fill=lambda row: wide(row) / 4), pa.decimal128(38, 2)),
        "decimal38": (column(pa.decimal128(38, 10), wide("9" * 28 + "." + "9" * 10), fill=lambda row: wide(row)), pa.decimal128(38, 10)),
        "decimal76": (column(pa.decimal256(76, 0), wide("9" * 76), wide("-" + "9" * 76), fill=lambda row: wide(row)), pa.decimal256(76, 0)),
        "doubles": (column(pa.list_(pa.float64()), [], [1.5, float("inf")], fill=lambda row: [row / 2] * (row % 4)), pa.list_(pa.float64())),
        "floats": (column(pa.list_(pa.float32()), [], fill=lambda row: [row / 2] * (row % 4)), pa.list_(pa.float64())),
        "longs": (column(pa.list_(pa.int64()), [2**63 - 1], fill=lambda row: [row] * (row % 3)), pa.list_(pa.int64())),
        "shorts": (column(pa.list_(pa.uint16()), [65_535], fill=lambda row: [row] * (row % 3)), pa.list_(pa.int64())),
        "large_list": (column(pa.large_list(pa.int32()), [], fill=lambda row: [row]), pa.list_(pa.int64())),
        "pair": (column(pa.list_(pa.int32(), 2), fill=lambda row: [row, -row]), pa.list_(pa.int64())),
        "grid": (column(pa.list_(pa.list_(pa.float64())), [[1.0, 2.0]], fill=lambda row: [[row / 2, 1.0]] * (1 + row % 2)), pa.list_(pa.list_(pa.float64()))),
        "none": (pa.nulls(ROWS), pa.string()),
    }
    return {name: (array, to) for name, (array, to) in columns.items()}


def plain(data_type):
    """A list type with the item's name that the client gives."""
    if pa.types.is_list(data_type):
        return pa.list_(pa.field("item", plain(data_type.value_type)))
    return data_type


def as_read(array, to):
    """What pyarrow read, brought to the type that the client is to get."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_time(array.type):
        return array.cast(pa.time64("ns")).cast(pa.int64())
    if pa.types.is_binary(to) and pa.types.is_fixed_size_binary(array.type):
        return pa.array(array.to_pylist(), to)
    if pa.types.is_dictionary(to):
        return array.cast(pa.string())
    return array.cast(plain(to))


def every_type_of_a_parquet_file(program, _data):
    columns = every_type()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "types.parquet")
        pq.write_table(pa.table({name: array for name, (array, _) in columns.items()}), path, use_dictionary=["symbol"])
        expected = pq.read_table(path)
        with Store(program, path) as store:
            for options in ["compression=raw;", "compression=zstd;"]:
                got = store.table("SELECT * FROM types", options)
                assert got.column_names == list(columns)
                for name, (_, to) in columns.items():
                    column = got[name]
                    if pa.types.is_dictionary(to):
                        assert column.type == to, f"{name}: {column.type}"
                        column = column.cast(pa.string())
                    same(name, column, as_read(expected[name], to))
    return f"{len(columns)} columns, {ROWS} rows, raw and zstd"


def what_has_no_exact_form_is_refused_by_name(program, _data):
    columns = {
        "ts": pa.array([0, 1], NANOS),
        "over": pa.array([1, 2**63], pa.uint64()),
        "pair": pa.array([{"a": 1}, None], pa.struct([("a", pa.int64())])),
        "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
        "words": pa.array([["a"], None], pa.list_(pa.string())),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "refused.parquet")
        pq.write_table(pa.table(columns), path)
        with Store(program, path) as store:
            for name, words in [("over", ["row 1", "9223372036854775808"]), ("pair", ["Struct"]), ("map", ["Map"]), ("words", ["List"])]:
                try:
                    store.table(f"SELECT {name} FROM refused")
                except questdb.QuestDBError as error:
                    assert error.code == questdb.QuestDBErrorCode.ServerInternalError, error.code
                    assert all(word in str(error) for word in [f'"{name}"', "query", *words]), str(error)
                else:
                    raise AssertionError(f"{name} was not refused")
    return f"{len(columns) - 1} columns"


def catalogue(program, data):
    with Store(program, data / "databento/xnas-nvda/test_data.mbo.dbn.zst") as store:
        tables = store.table("SELECT table_name, designatedTimestamp, walEnabled, table_row_count FROM tables()").to_pylist()
        assert tables == [{"table_name": "mbo", "designatedTimestamp": "ts_recv", "walEnabled": False, "table_row_count": 4}], tables
        columns = store.table("SELECT * FROM table_columns('mbo')").to_pylist()
        assert columns[0]["column"] == "ts_recv" and columns[0]["type"] == "TIMESTAMP_NS" and columns[0]["designated"] is True, columns[0]
    return "tables() and table_columns()"


def records(path):
    """The records of a DBN file as databento-dbn reads them, and the symbol of each instrument."""
    decoder = databento_dbn.DBNDecoder()
    if path.suffix == ".zst":
        data = pa.CompressedInputStream(pa.OSFile(str(path)), "zstd").read()
    else:
        data = path.read_bytes()
    metadata, *rows = decoder.write_and_decode(data)
    names = {interval["symbol"]: name for name, intervals in metadata.mappings.items() for interval in intervals}
    return rows, names


def value(record, column, names):
    """A field as the store has it: an undefined time or price is null, a symbol comes from the metadata."""
    if column == "symbol":
        return names.get(str(record.instrument_id))
    if column in ("action", "side"):
        return str(getattr(record, column))
    got = int(getattr(record, column))
    if column in ("ts_event", "ts_recv"):
        return None if got == databento_dbn.UNDEF_TIMESTAMP else got
    if column in ("price", "open", "high", "low", "close") or re.fullmatch(r"(bid|ask)_px_\d\d", column):
        return None if got == databento_dbn.UNDEF_PRICE else got
    return got


def dbn(name):
    def run(program, data):
        path = data / "databento" / name
        rows, names = records(path)
        cells = 0
        with Store(program, path) as store:
            [table] = store.tables
            for options in ["compression=raw;", "compression=zstd;"]:
                got = store.table(f"SELECT * FROM {table}", options)
                assert got.num_rows == len(rows), f"expected {len(rows)} rows, got {got.num_rows}"
                for column in got.column_names:
                    array = got[column].combine_chunks()
                    if pa.types.is_dictionary(array.type):
                        array = array.cast(pa.string())
                    elif pa.types.is_timestamp(array.type) or pa.types.is_decimal(array.type):
                        assert array.type in (NANOS, pa.decimal64(18, 9)), f"{column}: {array.type}"
                        array = array.view(pa.int64())
                    same(column, array, pa.array([value(row, column, names) for row in rows], array.type))
                    cells += len(rows)
        return f"{table}: {got.num_columns} columns, {len(rows)} rows, raw and zstd, {cells} values"

    return run


DBN_FILES = [
    "es-mbo/esh4-glbx-mdp3-20231225.mbo.dbn.zst",
    "es-mbp1-trades/futures_mbp-1_2024-07-01T23-58_2024-07-02T00-02.dbn.zst",
    "es-mbp1-trades/futures_trades_2024-07-01T23-58_2024-07-02T00-02.dbn.zst",
    "es-mbp1-trades/futures_ohlcv-1m_2024-07-01T23-40_2024-07-02T00-10.dbn.zst",
    *(f"dbn-versions/test_data.{schema}.v{version}.dbn.zst" for version in (1, 2, 3) for schema in ("mbo", "mbp-1", "mbp-10", "trades", "tbbo")),
    *(f"xnas-nvda/test_data.{schema}.dbn.zst" for schema in ("mbo", "mbp-1", "mbp-10", "trades", "tbbo", "ohlcv-1s", "ohlcv-1m")),
]


def main():
    program, data = sys.argv[1], Path(sys.argv[2])
    tests = [
        ("every_type_of_a_parquet_file_arrives_exactly", every_type_of_a_parquet_file),
        ("what_has_no_exact_form_is_refused_by_name", what_has_no_exact_form_is_refused_by_name),
        ("the_catalogue_is_read", catalogue),
        *((f"dbn/{name}", dbn(name)) for name in DBN_FILES),
    ]
    passed = failed = ignored = 0
    for name, test in tests:
        needs = data / "databento" / name.removeprefix("dbn/")
        if (name.startswith("dbn/") and not needs.exists()) or (test is catalogue and not data.exists()):
            ignored += 1
            print(f"test {name} ... ignored: the file is not there (set TICKSCOPE_DATA)", flush=True)
            continue
        try:
            what = test(program, data)
            passed += 1
            print(f"test {name} ... ok ({what})", flush=True)
        except Refused as refusal:
            ignored += 1
            print(f"test {name} ... ignored: the store does not take it: {refusal}", flush=True)
        except Exception:
            failed += 1
            print(f"test {name} ... FAILED\n{traceback.format_exc()}", flush=True)
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed; {ignored} ignored;")
    sys.exit(1 if failed else 0)


main()
