use super::limits::*;
use super::*;

/// Decodes a frame with one limit set to what the frame needs, and to one less.
fn at_and_past(frame: &[u8], needed: u64, limit: Limit, set: impl Fn(&mut DecoderLimits, u64)) {
    let decode = |value| {
        let mut limits = DecoderLimits::default();
        set(&mut limits, value);
        // SERVER_INFO passes under the default limits; only the batch is held against this one.
        let mut decoder = Decoder::new(limits);
        decoder.begin(1, None).unwrap();
        let mut info = Vec::new();
        ServerInfo::default().encode(&mut info);
        decoder.message(&info).unwrap();
        decoder.message(frame)
    };
    assert!(decode(needed).is_ok(), "{limit} at {needed}: {:?}", decode(needed));
    assert_eq!(decode(needed - 1).unwrap_err().fault, WireFault::OverLimit { limit, max: needed - 1, got: needed });
}

#[test]
fn each_limit_of_a_decoder_holds_at_its_edge() {
    let frame = hex(BATCH);
    at_and_past(&frame, frame.len() as u64, Limit::MessageBytes, |limits, value| limits.message_bytes = value);
    at_and_past(&stored(), 61, Limit::BodyBytes, |limits, value| limits.body_bytes = value);
    at_and_past(&frame, 3, Limit::Rows, |limits, value| limits.rows = value);
    at_and_past(&frame, 2, Limit::DictionaryEntries, |limits, value| limits.dictionary_entries = value);
    at_and_past(&frame, 3, Limit::DictionaryBytes, |limits, value| limits.dictionary_bytes = value);
    // Keys 12; bitmap 1 and values 24; times 24.
    at_and_past(&frame, 61, Limit::DenseBytes, |limits, value| limits.dense_bytes = value);
}

#[test]
fn a_batch_holds_no_more_rows_than_were_asked_for() {
    let decode = |max_rows| {
        let mut decoder = Decoder::new(DecoderLimits::default());
        decoder.message(&hex(SERVER_INFO)).unwrap();
        decoder.begin(1, Some(max_rows)).unwrap();
        decoder.message(&hex(BATCH))
    };
    assert!(decode(3).is_ok());
    assert_eq!(decode(2).unwrap_err().fault, WireFault::OverLimit { limit: Limit::Rows, max: 2, got: 3 });
}

/// A batch 0 for query 1: `rows`, and columns of a type whose bytes follow.
fn frame(rows: u64, columns: u64, name: &str, column_type: ColumnType, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    message::begin(&mut out, 0x0c, 1, kind::RESULT_BATCH);
    out.extend(1i64.to_le_bytes());
    out.extend([0, 0, 0, 0]);
    varint::write(&mut out, rows);
    varint::write(&mut out, columns);
    for _ in 0..columns {
        varint::write(&mut out, name.len() as u64);
        out.extend(name.as_bytes());
        out.push(column_type.code());
    }
    for _ in 0..columns {
        out.extend(bytes);
    }
    message::finish(&mut out);
    out
}

fn decode(frame: &[u8]) -> Result<ServerMessage, WireFault> {
    greeted(DecoderLimits::default()).message(frame).map_err(|error| error.fault)
}

fn over(limit: Limit, max: u64, got: u64) -> Result<ServerMessage, WireFault> {
    Err(WireFault::OverLimit { limit, max, got })
}

#[test]
fn columns_names_and_cells_are_capped() {
    assert!(decode(&frame(1, COLUMNS, "x", ColumnType::Byte, &[0, 7])).is_ok());
    assert_eq!(decode(&frame(1, COLUMNS + 1, "x", ColumnType::Byte, &[0, 7])), over(Limit::Columns, COLUMNS, COLUMNS + 1));
    let name = "n".repeat(NAME_BYTES as usize);
    assert!(decode(&frame(1, 1, &name, ColumnType::Byte, &[0, 7])).is_ok());
    assert_eq!(decode(&frame(1, 1, &(name + "n"), ColumnType::Byte, &[0, 7])), over(Limit::NameBytes, NAME_BYTES, NAME_BYTES + 1));
    // Refused before a byte of a column is looked at.
    assert_eq!(decode(&frame(ROWS, 33, "x", ColumnType::Boolean, &[])), over(Limit::Cells, CELLS, ROWS * 33));
    assert_eq!(decode(&frame(ROWS + 1, 1, "x", ColumnType::Boolean, &[])), over(Limit::Rows, ROWS, ROWS + 1));
    // A count that the message could not hold is refused before it reserves anything.
    let mut short = frame(0, 3, "", ColumnType::Byte, &[]);
    short.truncate(short.len() - 3);
    message::finish(&mut short);
    assert_eq!(decode(&short), Err(WireFault::Truncated { needed: 6, left: 3 }));
}

#[test]
fn columns_without_bytes_do_not_expand_without_end() {
    // All null: a bitmap of 128 KiB a column asks for 32 MiB.
    let bytes = [&[1u8], vec![0xff; ROWS as usize / 8].as_slice()].concat();
    let each = ROWS / 8 + ROWS * 32;
    let fitting = DENSE_BYTES / each;
    let past = decode(&frame(ROWS, fitting + 1, "x", ColumnType::Long256, &bytes));
    assert_eq!(past, over(Limit::DenseBytes, DENSE_BYTES, each * (fitting + 1)));
}

#[test]
fn shapes_of_arrays_are_capped() {
    let array = |lengths: &[i32]| {
        let lengths: Vec<u8> = lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
        [&[0u8, lengths.len() as u8 / 4], lengths.as_slice()].concat()
    };
    let decode_shape = |lengths: &[i32]| decode(&frame(1, 1, "x", ColumnType::DoubleArray, &array(lengths)));
    assert!(decode_shape(&[1 << 20, 0]).is_ok());
    let got = i32::MAX as u64;
    assert_eq!(decode_shape(&[i32::MAX, 0]), over(Limit::ArrayNodes, ARRAY_NODES, got));
    let most = ARRAY_NODES as i32;
    assert!(decode_shape(&[most, 0]).is_ok());
    assert_eq!(decode_shape(&[most + 1, 0]), over(Limit::ArrayNodes, ARRAY_NODES, ARRAY_NODES + 1));
    assert!(decode_shape(&[0; 32]).is_ok());
    assert_eq!(decode_shape(&[0; 33]), Err(WireFault::Dimensions { got: 33 }));
    assert!(matches!(decode_shape(&[i32::MAX; 32]), Err(WireFault::OverLimit { limit: Limit::ArrayNodes, .. })));
}

#[test]
fn queries_and_binds_are_capped() {
    let mut decoder = Decoder::new(DecoderLimits::default());
    for request_id in 0..QUERIES as i64 {
        decoder.begin(request_id, None).unwrap();
    }
    let fault = decoder.begin(-9, None).unwrap_err().fault;
    assert_eq!(fault, WireFault::OverLimit { limit: Limit::Queries, max: QUERIES, got: QUERIES + 1 });

    let request = |binds: u64| {
        let query = QueryRequest { binds: vec![Bind::Boolean(None); binds as usize], ..QueryRequest::default() };
        let mut out = Vec::new();
        ClientMessage::Query(query).encode(&mut out);
        ClientMessage::decode(&out)
    };
    assert!(request(BINDS).is_ok());
    assert!(request(BINDS + 1).is_err());
}

#[test]
fn what_the_encoder_sends_is_capped() {
    let schema = |columns: usize| vec![ColumnSchema { name: "x".to_owned(), column_type: ColumnType::Varchar }; columns];
    let text = "y".repeat(1 << 20);
    let rows = |count: usize| TextRef {
        offsets: (0..=count).map(|row| (row * text.len()) as i32).collect::<Vec<i32>>().into(),
        bytes: text.repeat(count).into_bytes().into(),
    };
    let mut encoder = Encoder::new();
    let mut out = Vec::new();
    let column = |count| ColumnRef { validity: None, values: ValuesRef::Varchar(rows(count)) };
    assert_eq!(encoder.batch(&schema(1), &[column(1)], 1, &mut out), Err(EncodeError::NotRunning));
    encoder.begin(1, false, &mut out);
    assert!(matches!(encoder.batch(&schema(1), &[column(2)], 2, &mut out), Err(EncodeError::FrameTooLarge { rows: 2, .. })));
    assert_eq!(encoder.sent(), (0, 0), "nothing was sent");
    encoder.batch(&schema(1), &[column(1)], 1, &mut out).unwrap();
    assert!(out.len() <= ENCODE_BYTES);
    assert_eq!(
        encoder.batch(&schema(1), &[column(1)], ENCODE_ROWS + 1, &mut out),
        Err(EncodeError::TooManyRows { max: ENCODE_ROWS, got: ENCODE_ROWS + 1 })
    );
    assert_eq!(encoder.batch(&schema(1), &[column(1)], 2, &mut out), Err(EncodeError::ColumnShape { column: 0, rows: 2 }));
    assert_eq!(encoder.batch(&schema(2), &[column(1)], 1, &mut out), Err(EncodeError::ColumnCount { expected: 1, got: 1 }));
    encoder.begin(2, false, &mut out);
    let many = schema(2_049);
    assert_eq!(encoder.batch(&many, &[], 0, &mut out), Err(EncodeError::TooManyColumns { max: 2_048, got: 2_049 }));
}
