use super::*;

/// What the first message after SERVER_INFO (queries 1 to 3 running) is refused for.
fn fault(frame: &[u8]) -> WireFault {
    let mut decoder = greeted(DecoderLimits::default());
    let error = decoder.message(frame).unwrap_err();
    assert_eq!(decoder.message(&hex(END)).unwrap_err().fault, WireFault::AfterFailure, "nothing is decoded after a failure");
    error.fault
}

#[test]
fn a_broken_header_is_refused() {
    let batch = hex(BATCH);
    let with = |at: usize, byte: u8| {
        let mut frame = batch.clone();
        frame[at] = byte;
        fault(&frame)
    };
    assert_eq!(with(0, b'q'), WireFault::Magic { got: *b"qWP1" });
    assert_eq!(with(4, 2), WireFault::Version { got: 2 });
    assert_eq!(with(5, 0x2c), WireFault::Flags { got: 0x2c });
    assert_eq!(with(6, 0), WireFault::TableCount { expected: 1, got: 0 });
    assert_eq!(with(8, 0x48), WireFault::PayloadLength { expected: 0x47, got: 0x48 });
    assert_eq!(with(8, 0x46), WireFault::PayloadLength { expected: 0x47, got: 0x46 });
    assert_eq!(with(12, kind::QUERY_REQUEST), WireFault::Kind { got: 0x10 }, "a client's kind");
    assert_eq!(with(12, 0x19), WireFault::Kind { got: 0x19 });
    assert_eq!(with(13, 9), WireFault::UnknownRequest { got: 9 });
    assert_eq!(fault(b""), WireFault::Truncated { needed: 4, left: 0 });
    assert_eq!(fault(b"a text message"), WireFault::Magic { got: *b"a te" });
    let ended = patched(END, "00 0000 0b000000", "00 0100 0b000000");
    assert_eq!(fault(&ended), WireFault::TableCount { expected: 0, got: 1 });
}

#[test]
fn a_broken_body_is_refused() {
    let text = |from, to, got| WireFault::TextOffset { from, to, got };
    let cases = [
        ("one byte behind the end", BATCH, "e8431e18240a0600 00", "e8431e18240a0600 00 00", WireFault::Trailing { left: 1 }),
        ("delta past the end", BATCH, "00 00 02 01 41", "00 01 02 01 41", WireFault::DeltaStart { length: 0, got: 1 }),
        ("symbol id 2 of 2", BATCH, "0a 00 00 01 00", "0a 00 00 02 00", WireFault::SymbolId { length: 2, got: 2 }),
        ("null flag 2", BATCH, "00 01 02 0a00", "00 02 02 0a00", WireFault::NullFlag { got: 2 }),
        ("the reserved type", BATCH, "01 76 05", "01 76 08", WireFault::TypeCode { got: 8 }),
        ("encoding 2", BATCH, "00 01 00401e", "00 02 00401e", WireFault::Encoding { got: 2 }),
        ("a symbol that is not UTF-8", BATCH, "02 4242", "02 ff42", WireFault::Utf8),
        ("a name that is not UTF-8", BATCH, "02 7473", "02 c373", WireFault::Utf8),
        ("rows without a column", BATCH, "00 03 03 01 73", "00 03 00 01 73", WireFault::RowsWithoutColumns { rows: 3 }),
        ("an eleven-byte varint", BATCH, "00 00 02 01 41", "00 8080808080808080808000 02 01 41", WireFault::Varint),
        ("Gorilla cut by a byte", BATCH, "e8431e18240a0600 00", "e8431e18240a0600", WireFault::Truncated { needed: 17, left: 16 }),
        ("no dimension", MANY_TYPES, "01 02 02 02000000", "01 02 00 02000000", WireFault::Dimensions { got: 0 }),
        ("33 dimensions", MANY_TYPES, "01 02 02 02000000", "01 02 21 02000000", WireFault::Dimensions { got: 33 }),
        ("length -1", MANY_TYPES, "02000000 01000000", "ffffffff 01000000", WireFault::ArrayLength { got: -1 }),
        ("offsets from 1", MANY_TYPES, "00000000 03000000 c3a921", "01000000 03000000 c3a921", text(0, 0, 1)),
        ("decreasing offsets", MANY_TYPES, "01 01 00000000 03000000", "00 00000000 03000000 01000000", text(3, 48, 1)),
        ("an offset behind the end", MANY_TYPES, "03000000 c3a921", "ff000000 c3a921", text(0, 48, 255)),
        ("an offset inside a character", MANY_TYPES, "01 01 00000000 03000000", "00 00000000 01000000 03000000", WireFault::CharBoundary { got: 1 }),
        ("text that is not UTF-8", MANY_TYPES, "c3a921", "c3c321", WireFault::Utf8),
        ("precision 0", MANY_TYPES, "14 34120c", "00 34120c", WireFault::Precision { got: 0 }),
        ("precision 61", MANY_TYPES, "14 34120c", "3d 34120c", WireFault::Precision { got: 61 }),
        ("scale 19", MANY_TYPES, "02 5afd", "13 5afd", WireFault::Scale { max: 18, got: 19 }),
    ];
    for (name, frame, from, to, expected) in cases {
        assert_eq!(fault(&patched(frame, from, to)), expected, "{name}");
    }
}

#[test]
fn arrays_of_a_column_agree_in_dimensions() {
    // Two rows: [] of one dimension, then [[]] of two.
    let mut frame = hex("51575031 01 0c 0100 00000000 11 0100000000000000 00 00 00 00 02 01 01 61 11 00 01 00000000 02 00000000 00000000");
    message::finish(&mut frame);
    assert_eq!(fault(&frame), WireFault::DimensionsDiffer { expected: 1, got: 2 });
}

#[test]
fn the_order_of_messages_is_held() {
    let first = |frame: &str| Decoder::new(DecoderLimits::default()).message(&hex(frame)).unwrap_err().fault;
    assert_eq!(first(BATCH), WireFault::ServerInfoMissing { got: kind::RESULT_BATCH });
    assert_eq!(fault(&hex(SERVER_INFO)), WireFault::ServerInfoRepeated);
    assert_eq!(fault(&hex(NEXT_BATCH)), WireFault::Sequence { expected: 0, got: 1 }, "no schema came");

    let after_batch = |frame: &[u8]| {
        let mut decoder = greeted(DecoderLimits::default());
        decoder.message(&hex(BATCH)).unwrap();
        decoder.message(frame).unwrap_err()
    };
    assert_eq!(after_batch(&patched(NEXT_BATCH, "01 02 00 00 01", "02 02 00 00 01")).fault, WireFault::Sequence { expected: 1, got: 2 });
    assert_eq!(after_batch(&patched(NEXT_BATCH, "01 02 00 00 01", "01 03 00 00 01")).fault, WireFault::DeltaStart { length: 2, got: 3 });
    // The cut takes the entry that the batch's own id needs.
    assert_eq!(after_batch(&patched(NEXT_BATCH, "01 02 00 00 01", "01 01 00 00 01")).fault, WireFault::SymbolId { length: 1, got: 1 });
    assert_eq!(after_batch(&hex("51575031 01 00 0000 02000000 17 01")).fault, WireFault::ResetInsideResult);
    assert_eq!(after_batch(&hex(END)).fault, WireFault::FinalSequence { expected: 0, got: 1 });
    assert_eq!(after_batch(&patched(END, "01 04", "00 04")).fault, WireFault::TotalRows { expected: 3, got: 4 });
    let other = "51575031 01 00 0000 0c000000 13 0900000000000000 0a 0000";
    assert_eq!(fault(&hex(other)), WireFault::UnknownRequest { got: 9 });
    assert_eq!(greeted(DecoderLimits::default()).begin(2, None).unwrap_err().fault, WireFault::RequestInUse { got: 2 });
}

#[test]
fn a_broken_zstd_frame_is_refused() {
    let stored = stored();
    let with = |at: usize, new: &[u8], dropped: usize| {
        let mut frame = [&stored[..at], new, &stored[at + dropped..]].concat();
        message::finish(&mut frame);
        fault(&frame)
    };
    let zstd = WireFault::Zstd;
    assert_eq!(with(22, &[0x29], 1), zstd(ZstdFault::Magic));
    assert_eq!(with(26, &[0x28], 1), zstd(ZstdFault::Reserved));
    assert_eq!(with(26, &[0x24], 1), zstd(ZstdFault::Checksum));
    assert_eq!(with(26, &[0x21], 1), zstd(ZstdFault::Dictionary));
    assert_eq!(with(26, &[0x00, 0x00], 2), zstd(ZstdFault::NoContentSize));
    let sixty_five_mib: u64 = 65 << 20;
    assert_eq!(
        with(26, &[&[0xe0], sixty_five_mib.to_le_bytes().as_slice()].concat(), 2),
        WireFault::OverLimit { limit: Limit::BodyBytes, max: limits::BODY_BYTES, got: sixty_five_mib }
    );
    assert_eq!(
        with(26, &[0x40, 0xff, 0x00, 0x00], 2),
        WireFault::OverLimit { limit: Limit::ZstdWindow, max: limits::ZSTD_WINDOW_BYTES, got: (1 << 41) / 8 * 15 }
    );
    assert_eq!(with(28, &[0xef], 1), zstd(ZstdFault::Block), "block kind 3");
    assert_eq!(with(28, &[0xf1], 1), zstd(ZstdFault::Block), "a block larger than the content");
    assert_eq!(with(27, &[0x3e], 1), zstd(ZstdFault::ContentSize));
    assert!(matches!(with(stored.len(), &[0], 0), WireFault::Zstd(ZstdFault::SecondFrame)));
    assert!(matches!(with(stored.len(), &stored[22..], 0), WireFault::Zstd(ZstdFault::SecondFrame)));
    assert!(matches!(with(stored.len() - 1, &[], 1), WireFault::Truncated { .. }));
    let mut corrupt = hex(COMPRESSED);
    corrupt[31] = 0xff;
    assert!(matches!(fault(&corrupt), WireFault::Zstd(_)));
}

#[test]
fn an_error_says_what_and_where() {
    let mut decoder = greeted(DecoderLimits::default());
    let error = decoder.message(&patched(BATCH, "0a 00 00 01 00", "0a 00 00 02 00")).unwrap_err();
    assert_eq!((error.batch, error.column, error.part), (Some(0), Some(0), Part::Message));
    assert_eq!(error.to_string(), "batch 0, column 0, byte 45: expected a symbol id below 2, got 2");
    let mut frame = stored();
    // The null flag of the third column.
    frame[73] = 2;
    let error = greeted(DecoderLimits::default()).message(&frame).unwrap_err();
    assert_eq!(error.to_string(), "batch 0, column 2, byte 42 of the decompressed body: expected null flag 0 or 1, got 2");
}

#[test]
fn a_broken_request_says_how_to_answer() {
    let decode = |text: &str| ClientMessage::decode(&hex(text)).unwrap_err();
    assert_eq!(decode(""), ClientError::Unknown { kind: None });
    assert_eq!(decode("11 00"), ClientError::Unknown { kind: Some(0x11) });
    assert!(matches!(decode("14 01"), ClientError::Ignored { .. }));
    assert!(matches!(decode("15 0100000000000000"), ClientError::Ignored { .. }));
    assert!(matches!(decode("10 07000000"), ClientError::Query { request_id: -1, .. }));
    assert!(matches!(decode("10 0700000000000000 08 7365"), ClientError::Query { request_id: 7, .. }), "cut short");
    assert!(matches!(decode("10 0700000000000000 01 ff 00 00"), ClientError::Query { request_id: 7, .. }), "not UTF-8");
    let query = |text: &str| match decode(&format!("10 0700000000000000 01 78 {text}")) {
        ClientError::Query { request_id: 7, error } => error.fault,
        other => panic!("{other:?}"),
    };
    let most = i64::MAX as u64;
    assert_eq!(query("80808080808080808001 00"), WireFault::OverLimit { limit: Limit::Positive, max: most, got: 1 << 63 });
    assert_eq!(query("00 01 17 00 00000000 00000000"), WireFault::TypeCode { got: 0x17 }, "BINARY is no bind");
    assert_eq!(query("00 01 08 00"), WireFault::TypeCode { got: 8 });
    assert_eq!(query("00 01 05 00 01 02"), WireFault::Truncated { needed: 8, left: 2 });
    assert_eq!(query("00 01 13 00 4d 0100000000000000"), WireFault::Scale { max: 76, got: 77 });
    assert_eq!(query("00 01 0e 00 3d 0000000000000000"), WireFault::Precision { got: 61 });
    assert_eq!(query("00 01 0f 00 01000000 01000000 78"), WireFault::TextOffset { from: 0, to: 0, got: 1 });
    // What QuestDB overlooks is overlooked.
    let lenient = ClientMessage::decode(&hex("10 0700000000000000 01 78 00 00 40 ff")).unwrap();
    let expected = QueryRequest { request_id: 7, sql: "x".to_owned(), ..QueryRequest::default() };
    assert_eq!(lenient, ClientMessage::Query(expected));
}
