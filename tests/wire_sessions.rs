//! Sessions recorded from a live QuestDB server: what our decoder reads equals what that server says over its other protocol.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io::Read;
use std::path::Path;

#[path = "support/data.rs"]
mod data;
#[path = "support/sessions.rs"]
mod sessions;

fn unzip(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(fs::File::open(path).ok()?).read_to_end(&mut bytes).unwrap();
    Some(bytes)
}

#[test]
fn recorded_sessions_decode_to_the_servers_own_answers() {
    let name = "recorded_sessions_decode_to_the_servers_own_answers";
    let Some(dir) = data::sessions_dir() else {
        return data::skipped(name, "no recorded sessions (TICKSCOPE_QWP_SESSIONS or qwp/questdb-server in the data)");
    };
    let mut names: Vec<String> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("session.json").is_file())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut failures = Vec::new();
    let mut total = sessions::Report::default();
    for session in &names {
        let folder = dir.join(session);
        let frames = unzip(&folder.join("frames.bin.gz")).unwrap();
        let session_json = fs::read_to_string(folder.join("session.json")).unwrap();
        let expected = unzip(&folder.join("expected.json.gz")).map(|bytes| String::from_utf8(bytes).unwrap());
        match sessions::check_session(session, &frames, &session_json, expected.as_deref()) {
            Ok(report) => {
                println!("{session}: {report:?}");
                // The two defects of that server: entries forgotten after an error, and a backward scan that is not one.
                if report.dictionary_cuts != u64::from(session == "timeout-credit") {
                    failures.push(format!("{session}: {} dictionary cuts", report.dictionary_cuts));
                }
                if session == "descending" && report.disordered != 2 {
                    failures.push(format!("{session}: {} disordered results", report.disordered));
                }
                total.cells += report.cells;
                total.cells_encoded += report.cells_encoded;
                total.batches += report.batches;
                total.requests += report.requests;
                total.dictionary_cuts += report.dictionary_cuts;
                total.disordered += report.disordered;
            }
            Err(error) => failures.push(error),
        }
    }
    println!("{} sessions: {total:?}", names.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    if std::env::var_os("TICKSCOPE_QWP_SESSIONS").is_none() {
        assert_eq!((names.len(), total.cells), (52, 853_691), "sessions and values that the recording's README counts");
    }
}
