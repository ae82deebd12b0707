use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder, StringDictionaryBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::i256;
use arrow_schema::{DataType, Field, Schema, TimeUnit};

use super::*;
use crate::wire::{Decoder, DecoderLimits, Encoder, ServerInfo, ServerMessage, limits};

/// Both ends of a connection with query 1 begun.
struct Connection {
    encoder: Encoder,
    decoder: Decoder,
    assembler: Assembler,
    out: Vec<u8>,
    frames: Vec<usize>,
}

impl Connection {
    fn new() -> Connection {
        let mut connection = Connection {
            encoder: Encoder::new(),
            decoder: Decoder::new(DecoderLimits::default()),
            assembler: Assembler::new(),
            out: Vec::new(),
            frames: Vec::new(),
        };
        ServerInfo::default().encode(&mut connection.out);
        connection.decoder.message(&connection.out).unwrap();
        connection.begin(1);
        connection
    }

    fn begin(&mut self, request_id: i64) {
        self.decoder.begin(request_id, None).unwrap();
        if self.encoder.begin(request_id, false, &mut self.out) {
            self.decoder.message(&self.out).unwrap();
        }
    }

    fn end(&mut self) {
        self.encoder.end(&mut self.out).unwrap();
        self.decoder.message(&self.out).unwrap();
    }

    fn receive(&mut self) -> RecordBatch {
        self.frames.push(self.out.len());
        let ServerMessage::Batch(batch) = self.decoder.message(&self.out).unwrap() else { panic!("expected a batch") };
        self.assembler.assemble(batch, self.decoder.dictionary()).unwrap()
    }

    /// Sends a batch and returns what comes.
    fn send(&mut self, batch: &RecordBatch) -> Result<Vec<RecordBatch>, ColumnarError> {
        let schema = ResultSchema::new(batch.schema())?;
        let mut frames = Frames::new(&schema, batch.clone(), 0);
        let mut came = Vec::new();
        while frames.encode_next(&mut self.encoder, &mut self.out)? {
            came.push(self.receive());
        }
        Ok(came)
    }
}

/// A column that may be null when it holds one.
fn batch_of(array: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter([("x", array)]).unwrap()
}

fn marked(array: ArrayRef, entries: &[(&str, &str)]) -> RecordBatch {
    let entries = entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let field = Field::new("x", array.data_type().clone(), true).with_metadata(entries);
    RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap()
}

/// One column there and back; the source is also sent from its middle, where buffers do not start at 0.
fn back(batch: RecordBatch) -> ArrayRef {
    let came = Connection::new().send(&batch).unwrap();
    assert_eq!(came.len(), 1);
    let whole = Arc::clone(came[0].column(0));
    if batch.num_rows() > 2 {
        let rows = batch.num_rows() - 2;
        let middle = Connection::new().send(&batch.slice(1, rows)).unwrap();
        assert_eq!(**middle[0].column(0), *whole.slice(1, rows));
    }
    whole
}

fn fixed<const N: usize>(rows: &[[u8; N]]) -> FixedSizeBinaryArray {
    FixedSizeBinaryArray::try_from_iter(rows.iter()).unwrap()
}

fn refused(array: ArrayRef) -> ColumnarError {
    Connection::new().send(&batch_of(array)).unwrap_err()
}

#[test]
fn integers_travel_in_the_smallest_type_that_holds_them_all() {
    let column = back(batch_of(Arc::new(UInt8Array::from(vec![0, u8::MAX]))));
    assert_eq!(*column.as_primitive::<Int16Type>(), Int16Array::from(vec![0, 255]));
    let column = back(batch_of(Arc::new(UInt16Array::from(vec![Some(0), None, Some(u16::MAX)]))));
    assert_eq!(*column.as_primitive::<Int32Type>(), Int32Array::from(vec![Some(0), None, Some(65_535)]));
    let column = back(batch_of(Arc::new(UInt32Array::from(vec![Some(0), None, Some(u32::MAX)]))));
    assert_eq!(*column.as_primitive::<Int64Type>(), Int64Array::from(vec![Some(0), None, Some(4_294_967_295)]));
    let column = back(batch_of(Arc::new(UInt64Array::from(vec![Some(0), None, Some(i64::MAX as u64)]))));
    assert_eq!(*column.as_primitive::<Int64Type>(), Int64Array::from(vec![Some(0), None, Some(i64::MAX)]));
    for array in [
        Arc::new(Int8Array::from(vec![i8::MIN, i8::MAX, 0, 1])) as ArrayRef,
        Arc::new(Int16Array::from(vec![i16::MIN, i16::MAX, 0, 1])),
        Arc::new(Int32Array::from(vec![Some(i32::MIN), None, Some(i32::MAX), Some(0)])),
        Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MAX), Some(0)])),
        Arc::new(BooleanArray::from(vec![true, false, false, true])),
        Arc::new(Float32Array::from(vec![Some(-0.0), None, Some(f32::INFINITY), Some(1e-45)])),
        Arc::new(Float64Array::from(vec![Some(-0.0), None, Some(f64::NEG_INFINITY), Some(5e-324)])),
    ] {
        assert_eq!(*back(batch_of(Arc::clone(&array))), *array);
    }
}

#[test]
fn narrow_columns_that_may_be_null_travel_as_int() {
    for (array, expected) in [
        (Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true)])) as ArrayRef, [Some(1), None, Some(0), Some(1)]),
        (Arc::new(Int8Array::from(vec![Some(i8::MIN), None, Some(i8::MAX), Some(0)])), [Some(-128), None, Some(127), Some(0)]),
        (Arc::new(Int16Array::from(vec![Some(i16::MIN), None, Some(i16::MAX), Some(0)])), [Some(-32_768), None, Some(32_767), Some(0)]),
        (Arc::new(UInt8Array::from(vec![Some(0), None, Some(u8::MAX), Some(1)])), [Some(0), None, Some(255), Some(1)]),
    ] {
        assert_eq!(*back(batch_of(array)).as_primitive::<Int32Type>(), Int32Array::from(expected.to_vec()));
    }
}

#[test]
fn a_number_over_i64_is_refused_by_its_row() {
    let error = refused(Arc::new(UInt64Array::from(vec![1, u64::MAX])));
    assert_eq!(error.to_string(), "column \"x\", row 1: 18446744073709551615 does not fit long; cast it in the query");
    assert_eq!(error.status(), crate::wire::status::INTERNAL_ERROR);
    // What stands in a null slot does not matter.
    let nulls = Some(vec![true, false].into());
    back(batch_of(Arc::new(UInt64Array::new(vec![1, u64::MAX].into(), nulls))));
}

#[test]
fn times_travel_exactly_or_not_at_all() {
    let seconds = back(batch_of(Arc::new(TimestampSecondArray::from(vec![Some(-1), None, Some(1_700_000_000)]))));
    let expected = TimestampMicrosecondArray::from(vec![Some(-1_000_000), None, Some(1_700_000_000_000_000)]).with_timezone("UTC");
    assert_eq!(*seconds.as_primitive::<TimestampMicrosecondType>(), expected);
    let millis = back(batch_of(Arc::new(TimestampMillisecondArray::from(vec![Some(7), None]).with_timezone("America/New_York"))));
    assert_eq!(millis.as_primitive::<TimestampMicrosecondType>().value(0), 7_000);
    let micros = back(batch_of(Arc::new(TimestampMicrosecondArray::from(vec![i64::MIN, 0, i64::MAX]))));
    assert_eq!(micros.as_primitive::<TimestampMicrosecondType>().values(), &[i64::MIN, 0, i64::MAX]);
    let nanos: Vec<i64> = (0..100).map(|row| 1_715_126_400_059_830_547 + row * 977).collect();
    let column = back(batch_of(Arc::new(TimestampNanosecondArray::from(nanos.clone()).with_timezone("+00:00"))));
    assert_eq!(column.as_primitive::<TimestampNanosecondType>().values(), nanos.as_slice());
    let days = back(batch_of(Arc::new(Date32Array::from(vec![Some(i32::MIN), None, Some(i32::MAX)]))));
    let days = days.as_primitive::<TimestampMillisecondType>();
    assert_eq!((days.value(0), days.value(2)), (i64::from(i32::MIN) * 86_400_000, i64::from(i32::MAX) * 86_400_000));
    let dates = back(batch_of(Arc::new(Date64Array::from(vec![86_400_000, -1]))));
    assert_eq!(dates.as_primitive::<TimestampMillisecondType>().values(), &[86_400_000, -1]);
    let error = refused(Arc::new(TimestampSecondArray::from(vec![0, 1, i64::MAX])));
    assert!(matches!(error, ColumnarError::OutOfRange { row: 2, wire_type: "timestamp", .. }), "{error}");
}

#[test]
fn texts_and_bytes_of_every_layout_travel() {
    let texts = [Some(""), Some("é"), None, Some("a text that no view holds inline"), Some("B")];
    let strings: [ArrayRef; 3] =
        [Arc::new(StringArray::from_iter(texts)), Arc::new(LargeStringArray::from_iter(texts)), Arc::new(StringViewArray::from_iter(texts))];
    for array in strings {
        assert_eq!(*back(batch_of(array)).as_string::<i32>(), StringArray::from_iter(texts));
    }
    let values = texts.map(|text| text.map(str::as_bytes));
    let binaries: [ArrayRef; 3] =
        [Arc::new(BinaryArray::from_iter(values)), Arc::new(LargeBinaryArray::from_iter(values)), Arc::new(BinaryViewArray::from_iter(values))];
    for array in binaries {
        assert_eq!(*back(batch_of(array)).as_binary::<i32>(), BinaryArray::from_iter(values));
    }
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some([1u8, 2, 3]), None, Some([4, 5, 6])].into_iter(), 3).unwrap();
    let column = back(batch_of(Arc::new(fixed)));
    assert_eq!(*column.as_binary::<i32>(), BinaryArray::from_iter([Some([1u8, 2, 3]), None, Some([4, 5, 6])]));
    let none = back(batch_of(Arc::new(NullArray::new(3))));
    assert_eq!((none.data_type(), none.null_count()), (&DataType::Utf8, 3));
}

#[test]
fn what_is_marked_keeps_its_type() {
    let type_of = |name| (metadata::COLUMN_TYPE, name);
    let uuids = fixed(&[[1u8, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], [0xff; 16]]);
    let wide = fixed(&[[7; 32], [0; 32]]);
    let bits = (metadata::GEOHASH_BITS, "60");
    let cases = [
        marked(Arc::new(UInt16Array::from(vec![0x41, 0])), &[type_of("char")]),
        marked(Arc::new(UInt32Array::from(vec![0x7f00_0001, 0])), &[type_of("ipv4")]),
        marked(Arc::new(TimestampMillisecondArray::from(vec![1, 2]).with_timezone("UTC")), &[type_of("date")]),
        marked(Arc::new(uuids), &[type_of("uuid"), (metadata::EXTENSION, metadata::EXTENSION_UUID)]),
        marked(Arc::new(wide), &[type_of("long256")]),
        marked(Arc::new(Int64Array::from(vec![0, (1 << 60) - 1])), &[type_of("geohash"), bits]),
    ];
    for batch in cases {
        let came = Connection::new().send(&batch).unwrap();
        assert_eq!(came[0], batch, "values, type and metadata");
    }
    let negative = marked(Arc::new(Int8Array::from(vec![-1])), &[type_of("geohash"), (metadata::GEOHASH_BITS, "7")]);
    assert!(matches!(Connection::new().send(&negative), Err(ColumnarError::OutOfRange { row: 0, .. })));
}

#[test]
fn decimals_keep_their_scale() {
    let decimal32 = Decimal32Array::from(vec![Some(-999_999_999), None, Some(1)]).with_precision_and_scale(9, 4).unwrap();
    let column = back(batch_of(Arc::new(decimal32)));
    let column = column.as_primitive::<Decimal64Type>();
    assert_eq!((column.value(0), column.data_type()), (-999_999_999, &DataType::Decimal64(18, 4)));
    let decimal64 = Decimal64Array::from(vec![Some(5_214_250_000_000), None]).with_precision_and_scale(18, 9).unwrap();
    assert_eq!(*back(batch_of(Arc::new(decimal64.clone()))), decimal64);
    let decimal128 = Decimal128Array::from(vec![Some(i128::MIN), None, Some(-1)]).with_precision_and_scale(38, 38).unwrap();
    assert_eq!(*back(batch_of(Arc::new(decimal128.clone()))), decimal128);
    let halves = [i256::MIN, i256::MAX, i256::MINUS_ONE, i256::from_parts(u128::MAX, 0)];
    let decimal256 = Decimal256Array::from(halves.to_vec()).with_precision_and_scale(76, 3).unwrap();
    assert_eq!(*back(batch_of(Arc::new(decimal256.clone()))), decimal256);
    let negative = Decimal128Array::from(vec![1]).with_precision_and_scale(10, -2).unwrap();
    assert!(matches!(refused(Arc::new(negative)), ColumnarError::Unsupported { .. }));
}

#[test]
fn symbols_travel_with_any_key_and_any_text() {
    let texts = ["ESM4", "ESU4", "ESM4", "NVDA"];
    fn dictionary<K: ArrowDictionaryKeyType>(texts: &[&str]) -> ArrayRef {
        let mut builder = StringDictionaryBuilder::<K>::new();
        builder.append_value(texts[0]);
        builder.append_null();
        texts[1..].iter().for_each(|text| builder.append_value(text));
        Arc::new(builder.finish())
    }
    let by_key =
        [dictionary::<Int8Type>(&texts), dictionary::<UInt16Type>(&texts), dictionary::<UInt32Type>(&texts), dictionary::<Int64Type>(&texts)];
    let keys = Int32Array::from(vec![Some(0), None, Some(1), Some(0), Some(2)]);
    let view: ArrayRef = Arc::new(StringViewArray::from(vec!["ESM4", "ESU4", "NVDA"]));
    let large: ArrayRef = Arc::new(LargeStringArray::from(vec!["ESM4", "ESU4", "NVDA"]));
    let by_text = [view, large].map(|values| Arc::new(DictionaryArray::new(keys.clone(), values)) as ArrayRef);
    for array in by_key.into_iter().chain(by_text) {
        let column = back(batch_of(array));
        let column = column.as_dictionary::<UInt32Type>().downcast_dict::<StringArray>().unwrap();
        let read: Vec<Option<&str>> = column.into_iter().collect();
        assert_eq!(read, [Some("ESM4"), None, Some("ESU4"), Some("ESM4"), Some("NVDA")]);
    }
    // A key may point at a null, and a null slot at nothing.
    let values: ArrayRef = Arc::new(StringArray::from(vec![Some("A"), None]));
    let keys = Int32Array::new(vec![0, 1, -7].into(), Some(vec![true, true, false].into()));
    let column = back(batch_of(Arc::new(DictionaryArray::new(keys, values))));
    assert_eq!((column.is_valid(0), column.is_null(1), column.is_null(2)), (true, true, true));
}

fn matrices(rows: &[Option<&[&[Option<f64>]]>]) -> ArrayRef {
    let mut builder = ListBuilder::new(ListBuilder::new(Float64Builder::new()));
    for row in rows {
        for level in row.unwrap_or_default() {
            level.iter().for_each(|value| builder.values().values().append_option(*value));
            builder.values().append(true);
        }
        builder.append(row.is_some());
    }
    Arc::new(builder.finish())
}

#[test]
fn arrays_travel_when_they_are_rectangular() {
    let book: &[&[Option<f64>]] = &[&[Some(5214.25), Some(5214.0)], &[Some(27.0), None]];
    let other: &[&[Option<f64>]] = &[&[Some(1.0)]];
    let column = back(batch_of(matrices(&[Some(book), None, Some(other), Some(&[]), Some(book)])));
    let column = column.as_list::<i32>();
    assert_eq!((column.null_count(), column.value(0).len(), column.value(2).len(), column.value(3).len()), (1, 2, 1, 0));
    let sizes = column.value(4).as_list::<i32>().value(1);
    let sizes = sizes.as_primitive::<Float64Type>();
    assert!(sizes.value(0) == 27.0 && sizes.value(1).is_nan() && sizes.null_count() == 0, "a null element is NaN");
    let ragged: &[&[Option<f64>]] = &[&[Some(1.0)], &[]];
    assert!(matches!(refused(matrices(&[Some(book), Some(ragged)])), ColumnarError::Ragged { row: 1, .. }));

    let inner = ListArray::from_iter_primitive::<Float64Type, _, _>([Some(vec![Some(1.0)]), None]);
    let field = Arc::new(Field::new("item", inner.data_type().clone(), true));
    let with_null_list = ListArray::new(field, arrow_buffer::OffsetBuffer::new(vec![0, 1, 2].into()), Arc::new(inner), None);
    assert!(matches!(refused(Arc::new(with_null_list)), ColumnarError::Ragged { row: 1, .. }));

    let integers = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), None]), None, Some(vec![])]);
    let column = back(batch_of(Arc::new(integers)));
    assert_eq!(column.as_list::<i32>().value(0).as_primitive::<Int64Type>().values(), &[1, i64::MIN]);
}

#[test]
fn types_without_an_exact_form_are_refused_by_name() {
    let integers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let fields = Field::new("a", DataType::Int64, true);
    let arrays: [ArrayRef; 7] = [
        Arc::new(Time64NanosecondArray::from(vec![1])),
        Arc::new(DurationSecondArray::from(vec![1])),
        Arc::new(IntervalYearMonthArray::from(vec![1])),
        Arc::new(StructArray::from(vec![(Arc::new(fields), Arc::clone(&integers))])),
        Arc::new(DictionaryArray::new(Int8Array::from(vec![0]), integers)),
        Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>([Some(vec![Some(1.0)])])),
        Arc::new(LargeListArray::from_iter_primitive::<Float64Type, _, _>([Some(vec![Some(1.0)])])),
    ];
    for array in arrays {
        let name = array.data_type().to_string();
        let error = refused(array).to_string();
        assert!(error.contains(&name) && error.contains("\"x\""), "{error}");
    }
}

#[test]
fn the_arrow_schema_says_what_the_wire_says() {
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("t", Arc::new(TimestampNanosecondArray::from(vec![1])) as ArrayRef, false),
        ("s", Arc::new(DictionaryArray::<Int32Type>::from_iter(["A"])) as ArrayRef, false),
        ("b", matrices(&[Some(&[&[Some(1.0)]])]), true),
    ])
    .unwrap();
    let schema = Connection::new().send(&batch).unwrap()[0].schema();
    let entry = |index: usize, key: &str| schema.field(index).metadata().get(key).map(String::as_str);
    assert_eq!(schema.field(0).data_type(), &DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())));
    assert_eq!(entry(0, metadata::COLUMN_TYPE), Some("timestamp_nanos"));
    assert_eq!(schema.field(1).data_type(), &DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8)));
    assert_eq!((entry(1, metadata::COLUMN_TYPE), entry(1, metadata::SYMBOL)), (Some("symbol"), Some("true")));
    assert_eq!((entry(2, metadata::COLUMN_TYPE), entry(2, metadata::ARRAY_DIMENSIONS)), (Some("double_array"), Some("2")));
    assert!(schema.fields().iter().all(|field| field.is_nullable()));
}

#[test]
fn batches_share_a_dictionary_until_it_grows() {
    let symbols = |texts: &[&str]| batch_of(Arc::new(DictionaryArray::<Int32Type>::from_iter(texts.iter().copied())));
    let mut connection = Connection::new();
    let values = |batch: &RecordBatch| Arc::clone(batch.column(0).as_dictionary::<UInt32Type>().values());
    let mut counter = ArrowByteCounter::new();
    let first = connection.send(&symbols(&["AA", "B"])).unwrap().remove(0);
    let second = connection.send(&symbols(&["B", "AA", "B"])).unwrap().remove(0);
    let third = connection.send(&symbols(&["CCC"])).unwrap().remove(0);
    assert!(Arc::ptr_eq(&values(&first), &values(&second)), "one array for both");
    assert_eq!((values(&first).len(), values(&third).len()), (2, 3));
    assert!(Arc::ptr_eq(&first.schema(), &third.schema()));
    // Keys 4 bytes each; offsets and texts once, then what was added.
    assert_eq!([counter.add(&first), counter.add(&second), counter.add(&third)], [8 + 12 + 3, 12, 4 + 4 + 3]);
    assert_eq!(counter.add(&first), 8 + 12 + 3, "an older array is not the one that grew");

    connection.end();
    connection.decoder.begin(2, None).unwrap();
    connection.encoder.begin(2, true, &mut connection.out);
    connection.decoder.message(&connection.out).unwrap();
    let after = connection.send(&symbols(&["D"])).unwrap().remove(0);
    assert_eq!(values(&after).as_string::<i32>().value(0), "D");
    assert_eq!(values(&third).as_string::<i32>().value(0), "AA", "batches handed out keep theirs");
}

#[test]
fn a_result_keeps_one_schema_or_says_what_drifted() {
    let send = |connection: &mut Connection, batch: &RecordBatch| {
        let schema = ResultSchema::new(batch.schema()).unwrap();
        Frames::new(&schema, batch.clone(), 0).encode_next(&mut connection.encoder, &mut connection.out).unwrap();
        let ServerMessage::Batch(batch) = connection.decoder.message(&connection.out).unwrap() else { panic!() };
        connection.assembler.assemble(batch, connection.decoder.dictionary())
    };
    let matrix: &[&[Option<f64>]] = &[&[Some(1.0)]];
    let unknown = batch_of(matrices(&[None, None]));
    let two = batch_of(matrices(&[Some(matrix)]));
    let one = batch_of(Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>([Some(vec![Some(1.0)])])));

    let mut connection = Connection::new();
    let tentative = send(&mut connection, &unknown).unwrap();
    let field = |batch: &RecordBatch, key| batch.schema().field(0).metadata().get(key).cloned();
    assert_eq!(field(&tentative, metadata::ARRAY_DIMENSIONS_TENTATIVE).as_deref(), Some("true"));
    assert_eq!(field(&tentative, metadata::ARRAY_DIMENSIONS).as_deref(), Some("1"));
    let told = send(&mut connection, &two).unwrap();
    assert_eq!(field(&told, metadata::ARRAY_DIMENSIONS).as_deref(), Some("2"));
    assert_eq!(send(&mut connection, &unknown).unwrap().schema(), told.schema(), "once told, it stays");
    let error = send(&mut connection, &one).unwrap_err();
    assert_eq!(error.to_string(), "column \"x\", batch 3: expected array dimensions 2 as in the batches before, got 1");

    let mut connection = Connection::new();
    connection.assembler.expect_dimensions("x", 2);
    let first = send(&mut connection, &unknown).unwrap();
    assert_eq!(field(&first, metadata::ARRAY_DIMENSIONS_TENTATIVE), None);
    assert!(Arc::ptr_eq(&first.schema(), &send(&mut connection, &two).unwrap().schema()));

    let decimal = |scale| batch_of(Arc::new(Decimal64Array::from(vec![1]).with_precision_and_scale(18, scale).unwrap()));
    let mut connection = Connection::new();
    send(&mut connection, &decimal(2)).unwrap();
    let error = send(&mut connection, &decimal(3)).unwrap_err();
    assert!(matches!(error, ColumnarError::Drift { what: "decimal scale", expected: 2, got: 3, batch: 1, .. }), "{error}");
}

#[test]
fn messages_are_cut_by_rows_and_by_bytes() {
    let mut connection = Connection::new();
    let narrow = batch_of(Arc::new(Int8Array::from_iter_values((0..40_000).map(|row| row as i8))));
    let came = connection.send(&narrow).unwrap();
    assert_eq!(came.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [16_384, 16_384, 7_232]);
    let schema = ResultSchema::new(narrow.schema()).unwrap();
    let mut frames = Frames::new(&schema, narrow.slice(0, 10), 4);
    let mut rows = Vec::new();
    while frames.encode_next(&mut connection.encoder, &mut connection.out).unwrap() {
        rows.push(connection.receive().num_rows());
    }
    assert_eq!((rows, frames.rows_left()), (vec![4, 4, 2], 0));

    // Texts of 1 KiB, then 200 KiB each.
    let mut connection = Connection::new();
    let texts = batch_of(Arc::new(StringArray::from_iter_values((0..600).map(|row| "x".repeat(if row < 500 { 1 << 10 } else { 200 << 10 })))));
    let came = connection.send(&texts).unwrap();
    assert_eq!(came.iter().map(RecordBatch::num_rows).sum::<usize>(), 600);
    assert!(connection.frames.iter().all(|bytes| *bytes <= 512 << 10), "{:?}", connection.frames);
    assert!(connection.frames.len() < 60);

    // Wide rows of many columns.
    let mut connection = Connection::new();
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..3_000));
    let wide = RecordBatch::try_from_iter((0..200).map(|index| (format!("c{index}"), Arc::clone(&column)))).unwrap();
    connection.send(&wide).unwrap();
    assert!(connection.frames.iter().all(|bytes| *bytes < 530 << 10), "{:?}", connection.frames);
    assert_eq!(connection.frames.len(), 10, "as few as 4.8 MB allow");
}

#[test]
fn new_symbols_never_make_a_message_too_large() {
    let texts: Vec<String> = (0..3_000).map(|row| format!("{row:02000}")).collect();
    let mut connection = Connection::new();
    let symbols = batch_of(Arc::new(DictionaryArray::<Int32Type>::from_iter(texts.iter().map(String::as_str))));
    let came = connection.send(&symbols).unwrap();
    assert!(came.len() > 2 && connection.frames.iter().all(|bytes| *bytes <= limits::ENCODE_BYTES), "{:?}", connection.frames);
    let read = came.iter().flat_map(|batch| {
        let column = batch.column(0).as_dictionary::<UInt32Type>().downcast_dict::<StringArray>().unwrap();
        column.into_iter().map(|text| text.unwrap().to_owned()).collect::<Vec<_>>()
    });
    assert!(read.eq(texts));
}

#[test]
fn a_row_that_no_message_holds_is_refused_after_the_rows_before_it() {
    let texts = ["a".to_owned(), "b".to_owned(), "c".repeat(3 << 20)];
    let batch = batch_of(Arc::new(StringArray::from_iter_values(&texts)));
    let schema = ResultSchema::new(batch.schema()).unwrap();
    let mut connection = Connection::new();
    let mut frames = Frames::new(&schema, batch, 0);
    assert!(frames.encode_next(&mut connection.encoder, &mut connection.out).unwrap());
    assert!(connection.receive().num_rows() >= 1);
    let error = loop {
        match frames.encode_next(&mut connection.encoder, &mut connection.out) {
            Ok(_) => drop(connection.receive()),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, ColumnarError::RowTooLarge { row: 2, .. }), "{error}");
    assert_eq!(error.status(), crate::wire::status::LIMIT_EXCEEDED);
}

#[test]
fn a_result_without_rows_has_a_schema() {
    let schema = ResultSchema::new(batch_of(matrices(&[])).schema()).unwrap();
    let mut connection = Connection::new();
    schema.encode_empty(&mut connection.encoder, &mut connection.out).unwrap();
    let came = connection.receive();
    assert_eq!((came.num_rows(), came.num_columns()), (0, 1));
    connection.end();
}

#[test]
fn bytes_are_counted_by_slice() {
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("l", Arc::new(Int64Array::from(vec![Some(1), None, Some(3), Some(4)])) as ArrayRef, true),
        ("b", Arc::new(BooleanArray::from(vec![true, false, true, true])) as ArrayRef, false),
        ("t", Arc::new(StringArray::from(vec!["aa", "", "bbbb", "c"])) as ArrayRef, false),
        ("d", Arc::new(Decimal256Array::from(vec![i256::ONE; 4])) as ArrayRef, false),
        ("u", Arc::new(fixed(&[[0; 16]; 4])) as ArrayRef, false),
        ("a", matrices(&[Some(&[&[Some(1.0), Some(2.0)]]), None, Some(&[]), Some(&[&[Some(3.0)], &[Some(4.0)]])]), true),
    ])
    .unwrap();
    let count = |batch: &RecordBatch| ArrowByteCounter::new().add(batch);
    // Lists: validity, 5 offsets; 3 inner lists with 4 offsets; 4 elements.
    let arrays = 1 + 5 * 4 + 4 * 4 + 4 * 8;
    assert_eq!(count(&batch), (1 + 32) + 1 + (5 * 4 + 7) + 128 + 64 + arrays);
    // The middle two rows: "" and "bbbb"; no inner list.
    let arrays = 1 + 3 * 4 + 4;
    assert_eq!(count(&batch.slice(1, 2)), (1 + 16) + 1 + (3 * 4 + 4) + 64 + 32 + arrays);
}
