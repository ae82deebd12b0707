//! `cargo bench --bench decode`: a pass over each workload, by this project's decoder and by `questdb-rs` on the same messages, one
//! after the other. Leaves the messages in `target/bench/frames` for the browser.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use questdb::egress::_bench_internals::{Bytes, SymbolDict, ZstdScratch, bench_batch_to_record_batch, decode_result_batch};
use tickscope_bench::compress::zstd_level_1;
use tickscope_bench::{Frames, Stage, Workload, pass};

/// The other client's pass over messages without their headers.
fn peer(payloads: &[(u8, Bytes)], arrow: bool) -> usize {
    let (mut dictionary, mut schema, mut scratch) = (SymbolDict::new(), None, ZstdScratch::new());
    let mut rows = 0;
    for (flags, payload) in payloads {
        let batch = decode_result_batch(payload, *flags, &mut dictionary, &mut schema, &mut scratch).expect("the peer decodes");
        rows += batch.row_count;
        if arrow {
            let schema = schema.as_ref().expect("batch 0 has the schema");
            black_box(bench_batch_to_record_batch(schema, batch, &dictionary).expect("the peer assembles"));
        } else {
            black_box(batch);
        }
    }
    rows
}

fn decode(criterion: &mut Criterion) {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench/frames");
    std::fs::create_dir_all(&place).expect("target/bench/frames can be made");
    for workload in Workload::ALL {
        let raw = Frames::encode(workload).expect("the workload can be encoded");
        let compressed = zstd_level_1(&raw).expect("the workload can be compressed");
        for (codec, frames) in [("raw", &raw), ("zstd", &compressed)] {
            let name = format!("{}-{codec}", workload.name());
            std::fs::write(place.join(format!("{name}.bin")), frames.to_file()).expect("target/bench/frames can be written");
            let totals = pass(frames, Stage::Arrow).expect("a pass");
            assert_eq!(totals.rows, frames.rows);
            let numbers = format!("{} {} {}\n", frames.rows, frames.bytes(), totals.arrow_bytes);
            std::fs::write(place.join(format!("{name}.txt")), numbers).expect("target/bench/frames can be written");

            let mut group = criterion.benchmark_group(&name);
            group.throughput(Throughput::Elements(frames.rows as u64)).sample_size(20).measurement_time(Duration::from_secs(4));
            let payloads: Vec<(u8, Bytes)> = frames.messages.iter().map(|message| (message[5], Bytes::copy_from_slice(&message[12..]))).collect();
            for stage in [Stage::Decode, Stage::Arrow] {
                let arrow = stage == Stage::Arrow;
                assert_eq!(peer(&payloads, arrow), frames.rows);
                group.bench_function(BenchmarkId::new("tickscope", stage.name()), |b| b.iter(|| pass(frames, stage).expect("a pass")));
                group.bench_function(BenchmarkId::new("questdb-rs", stage.name()), |b| b.iter(|| peer(&payloads, arrow)));
            }
            // Trades have no book.
            if workload != Workload::Trades {
                let book = Stage::Book;
                group.bench_function(BenchmarkId::new("tickscope", book.name()), |b| b.iter(|| pass(frames, book).expect("a pass")));
            }
            group.finish();
        }
    }
}

criterion_group!(benches, decode);
criterion_main!(benches);
