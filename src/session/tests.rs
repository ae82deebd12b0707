use super::*;
use crate::wire::ClientMessage;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// A server that reads query flags.
fn greeting() -> Vec<u8> {
    bytes("51575031 01 00 0000 21000000 18 00 0000000000000000 06000000 00002a36fe9c9717 0300 716462 0200 6e31 01 03")
}

/// Batch 0 of query 1: three rows, two symbols.
fn batch() -> Vec<u8> {
    bytes(
        "51575031 01 0c 0100 47000000 11 0100000000000000 00 00 02 01 41 02 4242 00 03 03 01 73 09 01 76 05 02 7473 0a
         00 00 01 00 01 02 0a00000000000000 fdffffffffffffff 00 01 00401e18240a0600 e8431e18240a0600 00",
    )
}

fn end_of(rows: u8) -> Vec<u8> {
    bytes(&format!("51575031 01 00 0000 0b000000 12 0100000000000000 00 {rows:02x}"))
}

fn cancelled() -> Vec<u8> {
    bytes("51575031 01 00 0000 1f000000 13 0100000000000000 0a 1300 63616e63656c6c656420627920636c69656e74")
}

fn ready() -> Session {
    let mut session = Session::default();
    assert!(matches!(session.receive(&greeting()), Ok(Some(SessionEvent::Ready))));
    session
}

fn request(message: &[u8]) -> QueryRequest {
    match ClientMessage::decode(message) {
        Ok(ClientMessage::Query(query)) => query,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_is_asked_before_the_greeting_and_one_query_runs_at_a_time() {
    assert_eq!(Session::default().query("SELECT 1"), None);
    let mut session = ready();
    let first = request(&session.query("SELECT 1").unwrap());
    assert_eq!((first.request_id, first.sql.as_str(), first.credit), (1, "SELECT 1", CREDIT_WINDOW_BYTES));
    assert_eq!(session.query("SELECT 2"), None);
    session.receive(&batch()).unwrap();
    assert!(matches!(session.receive(&end_of(3)), Ok(Some(SessionEvent::End))));
    assert_eq!(request(&session.query("SELECT 2").unwrap()).request_id, 2);
}

#[test]
fn credit_goes_down_by_the_message_and_comes_back_when_enough_has_gathered() {
    let mut session = ready();
    session.query("q").unwrap();
    session.receive(&batch()).unwrap();
    assert_eq!(session.credit(), CREDIT_WINDOW_BYTES as i64 - batch().len() as i64);
    assert_eq!(session.grant(83), None);
    let grant = session.grant(CREDIT_WINDOW_BYTES / GRANT_SHARE).unwrap();
    assert_eq!(ClientMessage::decode(&grant), Ok(ClientMessage::Credit { request_id: 1, bytes: CREDIT_WINDOW_BYTES / GRANT_SHARE + 83 }));
}

#[test]
fn a_cancelled_query_is_drained_before_the_next() {
    let mut session = ready();
    session.query("q").unwrap();
    let [cancel, credit] = session.cancel().unwrap();
    assert_eq!(ClientMessage::decode(&cancel), Ok(ClientMessage::Cancel { request_id: 1 }));
    assert_eq!(ClientMessage::decode(&credit), Ok(ClientMessage::Credit { request_id: 1, bytes: 1 }));
    assert!(session.cancel().is_none() && !session.idle());
    assert!(matches!(session.receive(&batch()), Ok(None)), "a late batch is absorbed");
    assert_eq!(session.decoder().dictionary().symbols().len(), 2, "and its symbols count");
    assert!(matches!(session.receive(&cancelled()), Ok(Some(SessionEvent::Cancelled))));
    assert!(session.idle());
}

#[test]
fn after_an_error_behind_a_batch_the_dictionary_is_begun_anew() {
    let mut session = ready();
    session.query("q").unwrap();
    session.receive(&batch()).unwrap();
    assert!(matches!(session.receive(&cancelled()), Ok(Some(SessionEvent::Failed { status: 0x0a, .. }))));
    assert!(request(&session.query("q").unwrap()).reset_dictionary);
}

#[test]
fn an_error_before_any_batch_leaves_the_dictionary() {
    let mut session = ready();
    session.query("q").unwrap();
    session.receive(&cancelled()).unwrap();
    assert!(!request(&session.query("q").unwrap()).reset_dictionary);
}

#[test]
fn bytes_that_are_not_the_protocol_end_the_session() {
    let mut session = ready();
    session.query("q").unwrap();
    assert!(matches!(session.receive(b"HTTP/1.1 200 OK\r\n\r\n"), Err(SessionError::Wire(_))));
}

#[test]
fn a_batch_that_nobody_asked_for_ends_the_session() {
    assert!(ready().receive(&batch()).is_err());
}
