//! The counters as the status bar and the panel show them: label, figure with unit, and the sentence that says what is counted.

use crate::link::Counters;

use super::numbers::{UNKNOWN, bytes, bytes_of, count, millis, rate};

/// One counter on the page.
#[derive(Debug, Clone, Copy)]
pub struct Gauge {
    /// Short label beside the figure.
    pub label: &'static str,
    /// Its names in `state().counters`.
    pub names: &'static str,
    /// What is counted, in a sentence.
    pub help: &'static str,
    /// Width of the figure in characters, so that nothing moves when it changes.
    pub width: u8,
    /// The figure with its unit.
    pub show: fn(&Counters, Option<u32>) -> String,
}

impl Gauge {
    /// The tooltip: the explanation and the name in `state().counters`.
    #[must_use]
    pub fn tooltip(&self) -> String {
        format!("{} — {}", self.help, self.names)
    }

    /// The width as the style sheet takes it.
    #[must_use]
    pub fn css_width(&self) -> String {
        format!("{}ch", self.width)
    }
}

/// The status bar, in the order of importance: what does not fit is at the end, and in the details panel.
pub const STATUS_BAR: [Gauge; 14] = [
    Gauge {
        label: "rows",
        names: "rowsPerSecond",
        help: "Rows decoded over the last second",
        width: 9,
        show: |counters, _| rate(counters.rows_per_second, "/s"),
    },
    Gauge {
        label: "wire",
        names: "wireBytesPerSecond",
        help: "QWP message bytes received over the last second, headers included, before decompression",
        width: 10,
        show: |counters, _| rate(counters.wire_bytes_per_second, "B/s"),
    },
    Gauge {
        label: "events",
        names: "eventsPerSecond",
        help: "Events applied to the book over the last second",
        width: 9,
        show: |counters, _| rate(counters.events_per_second, "/s"),
    },
    Gauge {
        label: "lag",
        names: "lagMillis",
        help: "How far the clock is behind its schedule",
        width: 9,
        show: |counters, _| millis(counters.lag_millis.map(|lag| lag.saturating_mul(1000))),
    },
    Gauge {
        label: "decode p99",
        names: "decodeP99Micros",
        help: "Time to decode a batch; 99 of 100 took less",
        width: 9,
        show: |counters, _| millis(counters.decode_p99_micros),
    },
    Gauge {
        label: "credit",
        names: "creditBytes, creditWindowBytes",
        help: "Bytes that the store may still send, of the window granted to it",
        width: 13,
        show: |counters, _| bytes_of(counters.credit_bytes, counters.credit_window_bytes),
    },
    Gauge {
        label: "painted",
        names: "framesPainted",
        help: "Frames painted over the last second",
        width: 7,
        show: |_, painted| painted.map_or_else(|| UNKNOWN.to_owned(), |painted| format!("{painted} fps")),
    },
    Gauge {
        label: "wasm",
        names: "wasmBytes",
        help: "Memory of the worker's WebAssembly instance; it grows and never shrinks",
        width: 9,
        show: |counters, _| counters.wasm_bytes.map_or_else(|| UNKNOWN.to_owned(), bytes),
    },
    Gauge {
        label: "history",
        names: "historyBytes, historyBudgetBytes",
        help: "Record batches kept for stepping and seeking, of the most that may be kept",
        width: 14,
        show: |counters, _| bytes_of(i64::try_from(counters.history_bytes).unwrap_or(i64::MAX), counters.history_budget_bytes),
    },
    Gauge {
        label: "Arrow",
        names: "arrowBitsPerSecond",
        help: "Bits of the Arrow buffers handed on over the last second",
        width: 12,
        show: |counters, _| rate(counters.arrow_bits_per_second, "bit/s"),
    },
    Gauge {
        label: "queued",
        names: "queuedBytes",
        help: "Bytes received and not yet applied to the book",
        width: 9,
        show: |counters, _| bytes(counters.queued_bytes),
    },
    Gauge {
        label: "apply p99",
        names: "applyP99Micros",
        help: "Time to apply a batch to the book; 99 of 100 took less",
        width: 9,
        show: |counters, _| millis(counters.apply_p99_micros),
    },
    Gauge {
        label: "paint p95",
        names: "paintP95Micros",
        help: "Time to paint a frame; 95 of 100 took less",
        width: 9,
        show: |counters, _| millis(counters.paint_p95_micros),
    },
    Gauge {
        label: "out of order",
        names: "outOfOrder",
        help: "Rows whose designated timestamp is smaller than that of the row before",
        width: 4,
        show: |counters, _| count(counters.out_of_order),
    },
];

/// Totals and rarer figures, for the panel.
pub const TOTALS: [Gauge; 6] = [
    Gauge {
        label: "Rows decoded",
        names: "rows",
        help: "Rows decoded since the page was opened",
        width: 16,
        show: |counters, _| count(counters.rows),
    },
    Gauge {
        label: "Events applied",
        names: "events",
        help: "Events applied to books; equal to the events of the range once it was played through",
        width: 16,
        show: |counters, _| count(counters.events),
    },
    Gauge {
        label: "Wire bytes",
        names: "wireBytes",
        help: "QWP message bytes received, headers included, before decompression",
        width: 16,
        show: |counters, _| count(counters.wire_bytes),
    },
    Gauge {
        label: "Arrow bytes",
        names: "arrowBytes",
        help: "Bytes of the Arrow buffers handed on, counted once a batch; a dictionary counts once, when it grows",
        width: 16,
        show: |counters, _| count(counters.arrow_bytes),
    },
    Gauge {
        label: "Decode median",
        names: "decodeP50Micros",
        help: "Time to decode a batch; half took less",
        width: 14,
        show: |counters, _| millis(counters.decode_p50_micros),
    },
    Gauge {
        label: "Conflated",
        names: "framesConflated",
        help: "Frames replaced by a newer one before they were painted; events are never left out",
        width: 16,
        show: |counters, _| count(counters.frames_conflated),
    },
];

/// Frames painted over the last second, from the running total that comes four times a second.
#[derive(Debug, Clone, Default)]
pub struct PaintRate {
    totals: [Option<u64>; 4],
    next: usize,
}

impl PaintRate {
    /// Takes the total of now; answers how many were added over the last four reports, `None` before there were four.
    pub fn push(&mut self, painted: u64) -> Option<u32> {
        let slot = self.totals.get_mut(self.next)?;
        let before = slot.replace(painted);
        self.next = (self.next + 1) % 4;
        before.map(|before| u32::try_from(painted.saturating_sub(before)).unwrap_or(u32::MAX))
    }
}

/// Says that playback is behind its schedule: only after half a second of it, and until one second without, so that nothing blinks.
#[derive(Debug, Clone, Default)]
pub struct Behind {
    over: u8,
    under: u8,
    shown: bool,
}

/// Less is the grain of the worker's loop, not a delay.
const BEHIND_MILLIS: u64 = 100;

impl Behind {
    /// Takes the lag of now, four times a second; answers whether to show it.
    pub fn push(&mut self, lag_millis: Option<u64>) -> bool {
        if lag_millis.is_some_and(|lag| lag >= BEHIND_MILLIS) {
            self.over = self.over.saturating_add(1);
            self.under = 0;
        } else {
            self.under = self.under.saturating_add(1);
            self.over = 0;
        }
        if self.over >= 2 {
            self.shown = true;
        }
        if self.under >= 4 {
            self.shown = false;
        }
        self.shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_a_dash_and_idle_is_zero() {
        let idle = Counters::default();
        let shown: Vec<String> = STATUS_BAR.iter().map(|gauge| (gauge.show)(&idle, None).replace('\u{2009}', " ")).collect();
        assert_eq!(shown, ["0/s", "0 B/s", "0/s", "–", "–", "0/0 B", "–", "–", "0/0 B", "0 bit/s", "0 B", "–", "–", "0"]);
    }

    #[test]
    fn usual_figures_fit_their_width() {
        let busy = Counters {
            rows: 4_295_123_000,
            rows_per_second: 12_400_000,
            wire_bytes: 123_456_789_012,
            wire_bytes_per_second: 999_000_000,
            arrow_bytes: 987_654_321,
            arrow_bits_per_second: 8_880_000_000,
            events: 4_000_000_000,
            events_per_second: 1_240_000,
            out_of_order: 999,
            decode_p50_micros: Some(700),
            decode_p99_micros: Some(12_345),
            apply_p99_micros: Some(5_999_000),
            paint_p95_micros: Some(16_600),
            lag_millis: Some(59_900),
            played_micros: 1 << 40,
            playing_micros: 1 << 40,
            credit_bytes: -4_194_304,
            credit_window_bytes: 4_194_304,
            queued_bytes: 4_194_303,
            frames_painted: 1_000_000,
            frames_conflated: 12_000,
            wasm_bytes: Some(1 << 31),
            history_bytes: 100_000_000,
            history_budget_bytes: 96 << 20,
        };
        for gauge in STATUS_BAR.iter().chain(&TOTALS) {
            let text = (gauge.show)(&busy, Some(240));
            assert!(text.chars().count() <= usize::from(gauge.width), "{}: {text}", gauge.label);
        }
    }

    #[test]
    fn being_behind_is_said_late_and_taken_back_later() {
        let mut behind = Behind::default();
        let shown = [500, 0, 500, 500, 0, 0, 0, 500, 0, 0, 0, 0].map(|lag| behind.push(Some(lag)));
        assert_eq!(shown, [false, false, false, true, true, true, true, true, true, true, true, false]);
    }

    #[test]
    fn the_paint_rate_is_of_the_last_second() {
        let mut rate = PaintRate::default();
        let shown = [0, 15, 30, 45, 60, 75, 75].map(|total| rate.push(total));
        assert_eq!(shown, [None, None, None, None, Some(60), Some(60), Some(45)]);
    }
}
