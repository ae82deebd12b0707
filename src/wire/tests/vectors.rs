use super::*;

#[test]
fn server_info_says_what_it_says() {
    let info = |text| match Decoder::new(DecoderLimits::default()).message(&hex(text)).unwrap() {
        ServerMessage::ServerInfo(info) => {
            let mut again = Vec::new();
            info.encode(&mut again);
            assert_eq!(again, hex(text));
            info
        }
        other => panic!("{other:?}"),
    };
    let standalone = info(SERVER_INFO);
    assert_eq!((standalone.role, standalone.epoch, standalone.wall_nanos), (0, 0, 1_700_000_000_000_000_000));
    assert_eq!((standalone.cluster.as_str(), standalone.node.as_str()), ("qdb", "n1"));
    assert_eq!(standalone.compression, Some(Compression { codec: 1, level: 3 }));
    let replica = info("51575031 01 00 0000 1e000000 18 02 0700000000000000 0b000000 0000000000000000 0000 0000 0200 617a");
    assert_eq!((replica.role, replica.epoch, replica.zone.as_deref()), (2, 7, Some("az")));
}

#[test]
fn requests_have_these_bytes() {
    let query = QueryRequest { request_id: 1, sql: "SELECT 1".to_owned(), credit: 1 << 20, ..QueryRequest::default() };
    let timed = QueryRequest { reset_dictionary: true, timeout_millis: Some(1000), ..query.clone() };
    let cases = [
        (ClientMessage::Query(query), "10 0100000000000000 08 53454c4543542031 808040 00"),
        (ClientMessage::Query(timed), "10 0100000000000000 08 53454c4543542031 808040 00 03 e8 07"),
        (ClientMessage::Cancel { request_id: 1 }, "14 0100000000000000"),
        (ClientMessage::Credit { request_id: 1, bytes: 65_536 }, "15 0100000000000000 808004"),
    ];
    for (message, text) in cases {
        let mut bytes = vec![0xee];
        message.encode(&mut bytes);
        assert_eq!(bytes, hex(text));
        assert_eq!(ClientMessage::decode(&bytes), Ok(message));
    }
}

#[test]
fn a_result_is_read_to_its_end() {
    let mut decoder = greeted(DecoderLimits::default());
    let first = batch(decoder.message(&hex(BATCH)).unwrap());
    let names: Vec<_> = first.schema.iter().map(|column| (column.name.as_str(), column.column_type)).collect();
    assert_eq!(names, [("s", ColumnType::Symbol), ("v", ColumnType::Long), ("ts", ColumnType::Timestamp)]);
    assert_eq!((first.rows, first.sequence, first.wire_bytes, first.body_bytes), (3, 0, 83, 61));
    assert_eq!(first.columns[0].values, Values::Symbol(SymbolKeys { keys: vec![0, 1, 0], table: None }));
    assert_eq!(first.columns[1].values, Values::Long(vec![10, 0, -3]));
    assert_eq!(first.columns[1].validity.as_ref().unwrap().bits(), [0b101]);
    assert_eq!(first.columns[2].values, Values::Timestamp([0, 1000, 2000].map(|step| 1_700_000_000_000_000 + step).to_vec()));
    let symbols = decoder.dictionary().symbols();
    assert_eq!([symbols.get(0), symbols.get(1), symbols.get(2)], [Some("A"), Some("BB"), None]);

    let second = batch(decoder.message(&hex(NEXT_BATCH)).unwrap());
    assert_eq!(second.columns[0].values, Values::Symbol(SymbolKeys { keys: vec![1], table: None }));
    assert_eq!(second.columns[1].validity.as_ref().unwrap().null_count(), 1);
    assert_eq!(second.columns[2].values, Values::Timestamp(vec![1_700_000_000_003_000]));
    assert!(std::sync::Arc::ptr_eq(&first.schema, &second.schema));
    assert_eq!(decoder.message(&hex(END)), Ok(ServerMessage::End { request_id: 1, final_sequence: 1, total_rows: 4 }));
    assert_eq!(decoder.message(&hex(END)).unwrap_err().fault, WireFault::UnknownRequest { got: 1 }, "it has ended");
}

#[test]
fn compressed_batches_equal_raw_ones() {
    let raw = batch(greeted(DecoderLimits::default()).message(&hex(BATCH)).unwrap());
    for frame in [hex(COMPRESSED), stored()] {
        let batch = batch(greeted(DecoderLimits::default()).message(&frame).unwrap());
        assert_eq!(batch.columns, raw.columns);
        assert_eq!((batch.flags, batch.wire_bytes, batch.body_bytes), (0x1c, frame.len(), 61));
    }
}

#[test]
fn short_messages_say_what_they_say() {
    let mut decoder = greeted(DecoderLimits::default());
    let error = "51575031 01 00 0000 1f000000 13 0100000000000000 0a 1300 63616e63656c6c656420627920636c69656e74";
    let message = "cancelled by client".to_owned();
    assert_eq!(decoder.message(&hex(error)), Ok(ServerMessage::Error { request_id: 1, status: status::CANCELLED, message }));
    assert_eq!(decoder.message(&hex("51575031 01 00 0000 02000000 17 01")), Ok(ServerMessage::CacheReset { mask: 1 }));
    let done = decoder.message(&hex("51575031 01 00 0000 0c000000 16 0200000000000000 02 ac02"));
    assert_eq!(done, Ok(ServerMessage::ExecDone { request_id: 2, op_type: 2, rows: Some(300) }));
    let unknown = decoder.message(&hex("51575031 01 00 0000 14000000 16 0300000000000000 03 ffffffffffffffffff01"));
    assert_eq!(unknown, Ok(ServerMessage::ExecDone { request_id: 3, op_type: 3, rows: None }));
}

#[test]
fn every_kind_of_value_is_read() {
    let batch = batch(greeted(DecoderLimits::default()).message(&hex(MANY_TYPES)).unwrap());
    let values: Vec<&Values> = batch.columns.iter().map(|column| &column.values).collect();
    let valid: Vec<Option<&[u8]>> = batch.columns.iter().map(|column| column.validity.as_ref().map(Validity::bits)).collect();
    assert_eq!(*values[0], Values::Boolean(vec![0b10]));
    assert_eq!(*values[1], Values::Uuid([hex("123e4567e89b12d3a456426614174000"), vec![0; 16]].concat()));
    assert_eq!(*values[2], Values::Geohash { precision: 20, values: Geohash::I32(vec![0, 0xc1234]) });
    assert_eq!(*values[3], Values::Decimal64 { scale: 2, values: vec![-678, 0] });
    assert_eq!(*values[4], Values::Varchar(Text { offsets: vec![0, 0, 3], bytes: "é!".as_bytes().to_vec() }));
    let Values::DoubleArray(arrays) = values[5] else { panic!() };
    assert_eq!((arrays.dimensions, &arrays.offsets), (2, &vec![vec![0, 2, 2], vec![0, 1, 2]]));
    assert!(arrays.elements[0] == 1.5 && arrays.elements[1].is_nan());
    assert_eq!(*values[6], Values::DoubleArray(Lists { dimensions: 1, offsets: vec![vec![0, 0, 0]], elements: vec![] }));
    assert_eq!(*values[7], Values::Ipv4(vec![0x7f00_0001, 0]));
    assert_eq!(*values[8], Values::Char(vec![0x41, 0]));
    let (first, second): (Option<&[u8]>, Option<&[u8]>) = (Some(&[0b01]), Some(&[0b10]));
    assert_eq!(valid, [None, first, second, first, second, first, second, first, None]);
}

#[test]
fn the_worked_gorilla_example_is_read() {
    let frame = "51575031 01 0c 0100 2f000000 11 0300000000000000 00 00 00 00 07 01 02 7473 0a 00 01 00401e18240a0600 40822d18240a0600
        924deda1cf03f7c2ff03";
    let batch = batch(greeted(DecoderLimits::default()).message(&hex(frame)).unwrap());
    let steps = [0, 1_000_000, 2_000_000, 3_000_050, 3_999_950, 5_000_850, 5_001_750];
    assert_eq!(batch.columns[0].values, Values::Timestamp(steps.map(|step| 1_700_000_000_000_000 + step).to_vec()));
}

#[test]
fn a_column_may_bring_its_own_symbols() {
    // Flags 0x04: no delta section, a table before the ids.
    let frame = hex("51575031 01 04 0100 00000000 11 0100000000000000 00 00 03 01 01 73 09 00 02 01 41 01 42 01 00 01");
    let mut frame = frame;
    message::finish(&mut frame);
    let mut decoder = greeted(DecoderLimits::default());
    let batch = batch(decoder.message(&frame).unwrap());
    let Values::Symbol(SymbolKeys { keys, table: Some(table) }) = &batch.columns[0].values else { panic!() };
    assert_eq!((keys.as_slice(), table.get(0), table.get(1)), ([1, 0, 1].as_slice(), Some("A"), Some("B")));
    assert!(decoder.dictionary().symbols().is_empty());
}

#[test]
fn a_forgotten_dictionary_is_cut_and_said() {
    let mut decoder = greeted(DecoderLimits::default());
    decoder.message(&hex(BATCH)).unwrap();
    decoder.message(&hex("51575031 01 00 0000 0c000000 13 0100000000000000 0b 0000")).unwrap();
    let epoch = decoder.dictionary().epoch();
    // The next query begins its delta at 1 although two entries are held: the second was forgotten.
    let next = hex("51575031 01 0c 0100 00000000 11 0200000000000000 00 01 01 01 43 00 01 01 01 73 09 00 01");
    let mut next = next;
    message::finish(&mut next);
    let batch = batch(decoder.message(&next).unwrap());
    assert_eq!(batch.dictionary_cut, Some(DictionaryCut { length: 2, kept: 1 }));
    let symbols = decoder.dictionary().symbols();
    assert_eq!([symbols.get(0), symbols.get(1), symbols.get(2)], [Some("A"), Some("C"), None]);
    assert_ne!(decoder.dictionary().epoch(), epoch);
}

#[test]
fn a_drained_query_leaves_its_symbols_and_counts() {
    let mut decoder = greeted(DecoderLimits::default());
    decoder.message(&hex(BATCH)).unwrap();
    decoder.drain(1);
    let drained = decoder.message(&patched(NEXT_BATCH, "01 02 00 00 01", "01 02 01 01 43 00 01")).unwrap();
    let expected = DrainedBatch { request_id: 1, sequence: 1, rows: 1, wire_bytes: 42, dictionary_cut: None };
    assert_eq!(drained, ServerMessage::Drained(expected));
    assert_eq!(decoder.dictionary().symbols().get(2), Some("C"));
    assert_eq!(decoder.message(&hex(END)), Ok(ServerMessage::End { request_id: 1, final_sequence: 1, total_rows: 4 }));
}

#[test]
fn an_error_of_the_connection_ends_every_query() {
    let mut decoder = greeted(DecoderLimits::default());
    let message = hex("51575031 01 00 0000 0c000000 13 ffffffffffffffff 06 0000");
    assert_eq!(decoder.message(&message), Ok(ServerMessage::Error { request_id: -1, status: 6, message: String::new() }));
    assert_eq!(decoder.begin(1, None), Ok(()), "its id is free");
}
