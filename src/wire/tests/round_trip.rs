use std::collections::BTreeSet;

use super::*;

const ROWS: usize = 21;

/// A column of each type whose values cover the ends of the type, null slots zero as the decoder leaves them.
fn columns(validity: &Option<Validity>) -> Vec<Column> {
    let valid = |row: usize| validity.as_ref().is_none_or(|validity| validity.as_bits().get(row));
    macro_rules! pick {
        ($($value:expr),+ $(,)?) => {{
            let values = [$($value),+];
            (0..ROWS).map(|row| if valid(row) { values[row % values.len()] } else { Default::default() }).collect::<Vec<_>>()
        }};
    }
    let bytes = |width: usize| (0..ROWS * width).map(|at| if valid(at / width) { (at * 31 % 251) as u8 } else { 0 }).collect::<Vec<u8>>();
    let text = |parts: &[&[u8]]| {
        let mut text = Text { offsets: vec![0], bytes: Vec::new() };
        for row in 0..ROWS {
            if valid(row) {
                text.bytes.extend(parts[row % parts.len()]);
            }
            text.offsets.push(text.bytes.len() as i32);
        }
        text
    };
    let mut flags = Vec::new();
    bits::pack((0..ROWS).map(|row| valid(row) && row % 3 == 0), &mut flags);
    let times = |step: i64| (0..ROWS).map(|row| if valid(row) { 1_700_000_000_000 + row as i64 * step } else { 0 }).collect::<Vec<i64>>();
    // Ids in the order in which they are met, which is the order in which the encoder gives them.
    let mut met = Vec::new();
    let mut keys = Vec::new();
    for row in 0..ROWS {
        let symbol = row * 7 % 5;
        let known = met.iter().position(|seen| *seen == symbol);
        keys.push(match (valid(row), known) {
            (false, _) => 0,
            (true, Some(id)) => id as u32,
            (true, None) => {
                met.push(symbol);
                met.len() as u32 - 1
            }
        });
    }
    let geohash = |precision: u8| {
        let all = (1i64 << precision) - 1;
        pick!(0i64, all, all >> 1, 1)
    };
    let mut values = vec![
        Values::Boolean(flags),
        Values::Byte(pick!(0, i8::MIN, i8::MAX, -1)),
        Values::Short(pick!(0, i16::MIN, i16::MAX, -1)),
        Values::Int(pick!(0, i32::MIN, i32::MAX, -1)),
        Values::Long(pick!(0, i64::MIN, i64::MAX, -1)),
        Values::Float(pick!(0.0, -0.0, f32::MIN, f32::MIN_POSITIVE, f32::INFINITY, f32::NAN, 1e-45)),
        Values::Double(pick!(0.0, -0.0, f64::MAX, f64::MIN_POSITIVE, f64::NEG_INFINITY, f64::NAN, 5e-324)),
        Values::Symbol(SymbolKeys { keys, table: None }),
        Values::Timestamp(times(1_000)),
        Values::Timestamp(pick!(0, i64::MIN, i64::MAX, 1)),
        Values::Date(times(0)),
        Values::TimestampNanos(times(777_777_777)),
        Values::TimestampNanos(pick!(3, 1, 4, 1, 5, 9, 2, 6)),
        Values::Uuid(bytes(16)),
        Values::Long256(bytes(32)),
        Values::Varchar(text(&[b"", "é".as_bytes(), "日本".as_bytes(), b"ascii", "🚀".as_bytes()])),
        Values::Binary(text(&[b"", &[0xff, 0xc3], &[0; 40]])),
        Values::Decimal64 { scale: 18, values: pick!(0, i64::MIN, i64::MAX, -1) },
        Values::Decimal64 { scale: 0, values: pick!(1) },
        Values::Decimal128 { scale: 38, values: pick!(0, i128::MIN, i128::MAX, -1) },
        Values::Decimal256 { scale: 76, values: pick!([0, 0], [-1, i128::MAX], [0, i128::MIN], [-1, -1]).into_flattened() },
        Values::Char(pick!(0, 0x41, 0xd800, u16::MAX)),
        Values::Ipv4(pick!(0, 0x7f00_0001, u32::MAX)),
    ];
    for precision in [1, 7, 8, 15, 16, 31, 32, 60] {
        let wide = geohash(precision);
        let geohash = match precision {
            ..8 => Geohash::I8(wide.iter().map(|value| *value as i8).collect()),
            8..16 => Geohash::I16(wide.iter().map(|value| *value as i16).collect()),
            16..32 => Geohash::I32(wide.iter().map(|value| *value as i32).collect()),
            _ => Geohash::I64(wide),
        };
        values.push(Values::Geohash { precision, values: geohash });
    }
    for shape in [vec![vec![0], vec![3], vec![1]], vec![vec![2, 10], vec![0, 0], vec![1, 4]], vec![vec![2, 3, 1], vec![1, 0, 0], vec![1, 1, 1]]] {
        let dimensions = if (0..ROWS).any(valid) { shape[0].len() } else { 1 };
        let mut offsets = vec![vec![0i32]; dimensions];
        let mut elements = Vec::new();
        for row in 0..ROWS {
            if !valid(row) {
                let end = *offsets[0].last().unwrap();
                offsets[0].push(end);
                continue;
            }
            let mut lists = 1;
            for (level, length) in shape[row % shape.len()].iter().enumerate() {
                for _ in 0..lists {
                    let end = *offsets[level].last().unwrap();
                    offsets[level].push(end + length);
                }
                lists *= length;
            }
            elements.extend((0..lists).map(|at| if at == 1 { f64::NAN } else { f64::from(at) / 3.0 }));
        }
        let known = if (0..ROWS).any(valid) { dimensions as u8 } else { 0 };
        let integers = elements.iter().map(|element| element.to_bits() as i64).collect();
        values.push(Values::DoubleArray(Lists { dimensions: known, offsets: offsets.clone(), elements }));
        values.push(Values::LongArray(Lists { dimensions: known, offsets, elements: integers }));
    }
    values.into_iter().map(|values| Column { validity: validity.clone(), values }).collect()
}

fn schema_of(columns: &[Column]) -> Vec<ColumnSchema> {
    let named = columns.iter().enumerate();
    named.map(|(index, column)| ColumnSchema { name: format!("c{index}"), column_type: column.values.column_type() }).collect()
}

#[test]
fn every_type_comes_back_with_and_without_nulls() {
    let mut symbols = Decoder::new(DecoderLimits::default());
    symbols.message(&hex(SERVER_INFO)).unwrap();
    symbols.begin(1, None).unwrap();
    // Five symbols for the keys to point at.
    let mut frame = hex("51575031 01 0c 0100 00000000 11 0100000000000000 00 00 05 0130 0131 0132 0133 0134 00 00 00");
    message::finish(&mut frame);
    symbols.message(&frame).unwrap();
    let source = symbols.dictionary().symbols();

    let mut seen = BTreeSet::new();
    for bitmap in [[0u8, 0, 0], [0b0101_0010, 0xf0, 0b1], [0xff, 0xff, 0x0f], [0xff, 0xff, 0xff]] {
        let validity = Validity::from_null_bitmap(&bitmap, ROWS);
        let columns = columns(&validity);
        let schema = schema_of(&columns);
        let mut encoder = Encoder::new();
        let mut decoder = greeted(DecoderLimits::default());
        let mut out = Vec::new();
        assert!(!encoder.begin(1, false, &mut out));
        let refs: Vec<ColumnRef<'_>> = columns.iter().map(|column| column.as_column_ref(ROWS, source)).collect();
        for sequence in 0..2 {
            encoder.batch(&schema, &refs, ROWS, &mut out).unwrap();
            let came = batch(decoder.message(&out).unwrap());
            assert_eq!((came.rows, came.sequence, came.flags), (ROWS, sequence, 0x0c));
            assert_eq!(*came.schema, *schema);
            // NaN is not equal to itself, its text is; the bits are held by the comparison of bytes below.
            for (sent, came) in columns.iter().zip(&came.columns) {
                assert_eq!(format!("{sent:?}"), format!("{came:?}"));
                seen.insert(came.values.column_type().code());
            }
            let mut again = Vec::new();
            let mut second = Encoder::new();
            second.begin(1, false, &mut again);
            for _ in 0..=sequence {
                let refs: Vec<_> = came.columns.iter().map(|column| column.as_column_ref(ROWS, decoder.dictionary().symbols())).collect();
                second.batch(&schema, &refs, ROWS, &mut again).unwrap();
            }
            assert_eq!(again, out);
        }
        encoder.end(&mut out).unwrap();
        assert_eq!(decoder.message(&out), Ok(ServerMessage::End { request_id: 1, final_sequence: 1, total_rows: 2 * ROWS as u64 }));
    }
    assert_eq!(seen.len(), ColumnType::ALL.len());
}

#[test]
fn an_empty_result_carries_its_schema() {
    let columns: Vec<Column> = ColumnType::ALL.into_iter().map(empty_column).collect();
    let schema = schema_of(&columns);
    let mut encoder = Encoder::new();
    let mut out = Vec::new();
    encoder.begin(1, false, &mut out);
    let symbols = Symbols::default();
    let refs: Vec<ColumnRef<'_>> = columns.iter().map(|column| column.as_column_ref(0, &symbols)).collect();
    encoder.batch(&schema, &refs, 0, &mut out).unwrap();
    let mut decoder = greeted(DecoderLimits::default());
    let came = batch(decoder.message(&out).unwrap());
    assert_eq!((came.rows, came.columns), (0, columns));
    encoder.end(&mut out).unwrap();
    decoder.message(&out).unwrap();
}

fn empty_column(column_type: ColumnType) -> Column {
    let text = || Text { offsets: vec![0], bytes: vec![] };
    let values = match column_type {
        ColumnType::Boolean => Values::Boolean(vec![]),
        ColumnType::Byte => Values::Byte(vec![]),
        ColumnType::Short => Values::Short(vec![]),
        ColumnType::Int => Values::Int(vec![]),
        ColumnType::Long => Values::Long(vec![]),
        ColumnType::Float => Values::Float(vec![]),
        ColumnType::Double => Values::Double(vec![]),
        ColumnType::Symbol => Values::Symbol(SymbolKeys { keys: vec![], table: None }),
        ColumnType::Timestamp => Values::Timestamp(vec![]),
        ColumnType::Date => Values::Date(vec![]),
        ColumnType::Uuid => Values::Uuid(vec![]),
        ColumnType::Long256 => Values::Long256(vec![]),
        ColumnType::Geohash => Values::Geohash { precision: 9, values: Geohash::I16(vec![]) },
        ColumnType::Varchar => Values::Varchar(text()),
        ColumnType::TimestampNanos => Values::TimestampNanos(vec![]),
        ColumnType::DoubleArray => Values::DoubleArray(Lists { dimensions: 0, offsets: vec![vec![0]], elements: vec![] }),
        ColumnType::LongArray => Values::LongArray(Lists { dimensions: 0, offsets: vec![vec![0]], elements: vec![] }),
        ColumnType::Decimal64 => Values::Decimal64 { scale: 1, values: vec![] },
        ColumnType::Decimal128 => Values::Decimal128 { scale: 2, values: vec![] },
        ColumnType::Decimal256 => Values::Decimal256 { scale: 3, values: vec![] },
        ColumnType::Char => Values::Char(vec![]),
        ColumnType::Binary => Values::Binary(text()),
        ColumnType::Ipv4 => Values::Ipv4(vec![]),
    };
    Column { validity: None, values }
}

/// A symbol column over the given texts, a row each.
fn symbol_column<'a>(texts: &[&'a str]) -> (Vec<ColumnSchema>, ColumnRef<'a>) {
    let mut offsets = vec![0];
    offsets.extend(texts.iter().scan(0, |end, text| {
        *end += text.len() as i32;
        Some(*end)
    }));
    let texts_ref = TextRef { offsets: offsets.into(), bytes: texts.concat().into_bytes().into() };
    let keys: Vec<u32> = (0..texts.len() as u32).collect();
    let schema = vec![ColumnSchema { name: "s".to_owned(), column_type: ColumnType::Symbol }];
    (schema, ColumnRef { validity: None, values: ValuesRef::Symbol { keys: keys.into(), texts: texts_ref } })
}

#[test]
fn the_dictionary_goes_on_over_queries_until_it_is_reset() {
    let mut encoder = Encoder::new();
    let mut decoder = greeted(DecoderLimits::default());
    let mut out = Vec::new();
    let send = |encoder: &mut Encoder, decoder: &mut Decoder, request_id: i64, reset: bool, texts: &[&str]| {
        let mut out = Vec::new();
        if encoder.begin(request_id, reset, &mut out) {
            assert_eq!(decoder.message(&out), Ok(ServerMessage::CacheReset { mask: 1 }));
        }
        let (schema, column) = symbol_column(texts);
        encoder.batch(&schema, &[column], texts.len(), &mut out).unwrap();
        let came = batch(decoder.message(&out).unwrap());
        let Values::Symbol(symbol) = &came.columns[0].values else { panic!() };
        let read: Vec<&str> = symbol.keys.iter().map(|key| decoder.dictionary().symbols().get(*key).unwrap()).collect();
        assert_eq!(read, texts);
        let bytes = out.len();
        encoder.end(&mut out).unwrap();
        decoder.message(&out).unwrap();
        (bytes, decoder.dictionary().symbols().len())
    };
    let (first, length) = send(&mut encoder, &mut decoder, 1, false, &["ESM4", "ESU4", "ESM4"]);
    assert_eq!(length, 2);
    let (second, length) = send(&mut encoder, &mut decoder, 2, false, &["ESU4", "ESM4", "ESU4"]);
    assert_eq!((first - second, length), (10, 2), "known symbols travel once");
    assert_eq!(send(&mut encoder, &mut decoder, 3, true, &["NVDA"]).1, 1, "reset on request");

    // A batch that fails leaves no entry behind that the client never got.
    decoder.begin(4, None).unwrap();
    encoder.begin(4, false, &mut out);
    let long = "x".repeat(3 << 20);
    let (schema, column) = symbol_column(&["new", &long]);
    assert!(matches!(encoder.batch(&schema, &[column], 2, &mut out), Err(EncodeError::FrameTooLarge { .. })));
    assert!(out.is_empty());
    let (schema, column) = symbol_column(&["other"]);
    encoder.batch(&schema, &[column], 1, &mut out).unwrap();
    decoder.message(&out).unwrap();
    assert_eq!(decoder.dictionary().symbols().get(1), Some("other"));
}

#[test]
fn a_full_dictionary_is_reset_between_queries() {
    let texts: Vec<String> = (0..limits::DICTIONARY_SOFT_ENTRIES + 1).map(|number| format!("{number:x}")).collect();
    let mut encoder = Encoder::new();
    let mut out = Vec::new();
    assert!(!encoder.begin(1, false, &mut out));
    for chunk in texts.chunks(limits::ENCODE_ROWS) {
        let chunk: Vec<&str> = chunk.iter().map(String::as_str).collect();
        let (schema, column) = symbol_column(&chunk);
        encoder.batch(&schema, &[column], chunk.len(), &mut out).unwrap();
    }
    encoder.end(&mut out).unwrap();
    assert!(encoder.begin(2, false, &mut out), "one entry past the soft cap");
    assert!(!encoder.begin(3, false, &mut out), "empty again");
}

#[test]
fn ragged_arrays_are_refused_by_row() {
    let schema = [ColumnSchema { name: "a".to_owned(), column_type: ColumnType::DoubleArray }];
    let lists = ListsRef { offsets: vec![vec![0, 1, 3].into(), vec![0, 2, 4, 5].into()], elements: vec![1.0; 5].into() };
    let column = ColumnRef { validity: None, values: ValuesRef::DoubleArray(lists) };
    let mut encoder = Encoder::new();
    let mut out = Vec::new();
    encoder.begin(1, false, &mut out);
    assert_eq!(encoder.batch(&schema, &[column], 2, &mut out), Err(EncodeError::Ragged { column: 0, row: 1 }));
}

#[test]
fn every_bind_comes_back() {
    let binds = vec![
        Bind::Boolean(Some(true)),
        Bind::Byte(Some(i8::MIN)),
        Bind::Short(Some(-2)),
        Bind::Int(Some(i32::MIN)),
        Bind::Long(Some(i64::MIN)),
        Bind::Float(Some(f32::MIN)),
        Bind::Double(Some(-0.0)),
        Bind::Symbol(Some("B".to_owned())),
        Bind::Timestamp(Some(1)),
        Bind::Date(Some(2)),
        Bind::Uuid(Some(std::array::from_fn(|at| at as u8))),
        Bind::Long256(Some(std::array::from_fn(|at| at as u8))),
        Bind::Geohash { precision: 60, value: Some((1 << 60) - 1) },
        Bind::Varchar(Some("日本".to_owned())),
        Bind::TimestampNanos(Some(i64::MAX)),
        Bind::Decimal64 { scale: 2, value: Some(-678) },
        Bind::Decimal128 { scale: 38, value: Some(i128::MIN) },
        Bind::Decimal256 { scale: 76, value: Some([0xff; 32]) },
        Bind::Char(Some(0x41)),
        Bind::Geohash { precision: 7, value: None },
        Bind::Varchar(None),
        Bind::Decimal128 { scale: 4, value: None },
        Bind::Uuid(None),
    ];
    let query = ClientMessage::Query(QueryRequest { request_id: -5, sql: "select $1".to_owned(), binds, ..QueryRequest::default() });
    let mut bytes = Vec::new();
    query.encode(&mut bytes);
    assert_eq!(ClientMessage::decode(&bytes), Ok(query));
    for cut in 0..bytes.len() {
        assert!(ClientMessage::decode(&bytes[..cut]).is_err(), "cut at {cut}");
    }
}
