//! The columns of each record type, in the order of `databento-dbn`.

use dbn::{
    BboMsg, CbboMsg, Cmbp1Msg, HasRType, ImbalanceMsg, InstrumentDefMsg, MboMsg, Mbp1Msg, Mbp10Msg, OhlcvMsg, RecordHeader, StatMsg, StatusMsg,
    TradeMsg, UNDEF_TIMESTAMP,
};

use super::columns::{Column, bits, int8, int16, int32, int64, letter, order, price, text, time, uint8, uint16, uint32, uint64};

/// A record that has a table form.
pub(crate) trait TickRecord: HasRType<Header = RecordHeader> + Clone + 'static {
    /// Its columns but for `symbol`; the first one orders the table.
    fn columns() -> Vec<Column<Self>>;
    /// What all records begin with.
    fn head(&self) -> &RecordHeader;
    /// The time that orders it: when it was received, or what stands for that; in nanoseconds since 1970.
    fn moment(&self) -> u64;
}

/// When a record was received; it happened then too where that is not said.
fn received<T: TickRecord>(record: &T, ts_recv: u64) -> u64 {
    if ts_recv == UNDEF_TIMESTAMP { record.head().ts_event } else { ts_recv }
}

fn head<T: TickRecord>() -> Vec<Column<T>> {
    vec![
        order("ts_recv", T::moment),
        time("ts_event", |record: &T| record.head().ts_event),
        uint8("rtype", |record: &T| record.head().rtype),
        uint16("publisher_id", |record: &T| record.head().publisher_id),
        uint32("instrument_id", |record: &T| record.head().instrument_id),
    ]
}

/// Levels of one venue: `bid_px_00 ask_px_00 bid_sz_00 ask_sz_00 bid_ct_00 ask_ct_00`, then those of the next.
macro_rules! levels {
    ($record:ty, $levels:literal, $kind:ident $last:ident $bid_last:ident $ask_last:ident) => {
        (0..$levels).flat_map(|level: usize| {
            [
                price(&format!("bid_px_{level:02}"), move |record: &$record| record.levels[level].bid_px),
                price(&format!("ask_px_{level:02}"), move |record: &$record| record.levels[level].ask_px),
                uint32(&format!("bid_sz_{level:02}"), move |record: &$record| record.levels[level].bid_sz),
                uint32(&format!("ask_sz_{level:02}"), move |record: &$record| record.levels[level].ask_sz),
                $kind(&format!(concat!("bid_", stringify!($last), "_{:02}"), level), move |record: &$record| record.levels[level].$bid_last),
                $kind(&format!(concat!("ask_", stringify!($last), "_{:02}"), level), move |record: &$record| record.levels[level].$ask_last),
            ]
        })
    };
}

/// A record with `ts_recv`: its own fields by kind and name, then its levels.
macro_rules! record {
    ($record:ty { $($kind:ident $name:ident,)* } $(levels $levels:literal, $lkind:ident $last:ident $bid_last:ident $ask_last:ident)?) => {
        impl TickRecord for $record {
            fn columns() -> Vec<Column<Self>> {
                let mut columns = head::<Self>();
                columns.extend([$($kind(stringify!($name), |record: &Self| record.$name),)*]);
                $(columns.extend(levels!($record, $levels, $lkind $last $bid_last $ask_last));)?
                columns
            }

            fn head(&self) -> &RecordHeader {
                &self.hd
            }

            fn moment(&self) -> u64 {
                received(self, self.ts_recv)
            }
        }
    };
}

record!(MboMsg {
    letter action, letter side, price price, uint32 size, uint8 channel_id, uint64 order_id, bits flags, int32 ts_in_delta, uint32 sequence,
});
record!(TradeMsg {
    letter action, letter side, uint8 depth, price price, uint32 size, bits flags, int32 ts_in_delta, uint32 sequence,
});
record!(Mbp1Msg {
    letter action, letter side, uint8 depth, price price, uint32 size, bits flags, int32 ts_in_delta, uint32 sequence,
} levels 1, uint32 ct bid_ct ask_ct);
record!(Mbp10Msg {
    letter action, letter side, uint8 depth, price price, uint32 size, bits flags, int32 ts_in_delta, uint32 sequence,
} levels 10, uint32 ct bid_ct ask_ct);
record!(BboMsg {
    letter side, price price, uint32 size, bits flags, uint32 sequence,
} levels 1, uint32 ct bid_ct ask_ct);
// Consolidated levels name the publisher that has the best price.
record!(Cmbp1Msg {
    letter action, letter side, price price, uint32 size, bits flags, int32 ts_in_delta,
} levels 1, uint16 pb bid_pb ask_pb);
record!(CbboMsg {
    letter side, price price, uint32 size, bits flags,
} levels 1, uint16 pb bid_pb ask_pb);
record!(StatusMsg {
    uint16 action, uint16 reason, uint16 trading_event, letter is_trading, letter is_quoting, letter is_short_sell_restricted,
});
record!(StatMsg {
    time ts_ref, price price, int64 quantity, uint32 sequence, int32 ts_in_delta, uint16 stat_type, uint16 channel_id, uint8 update_action,
    uint8 stat_flags,
});
record!(ImbalanceMsg {
    price ref_price, time auction_time, price cont_book_clr_price, price auct_interest_clr_price, price ssr_filling_price, price ind_match_price,
    price upper_collar, price lower_collar, uint32 paired_qty, uint32 total_imbalance_qty, uint32 market_imbalance_qty, uint32 unpaired_qty,
    letter auction_type, letter side, uint8 auction_status, uint8 freeze_status, uint8 num_extensions, letter unpaired_side,
    letter significant_imbalance,
});
record!(InstrumentDefMsg {
    text raw_symbol, letter security_update_action, letter instrument_class, price min_price_increment, price display_factor, time expiration,
    time activation, price high_limit_price, price low_limit_price, price max_price_variation, price unit_of_measure_qty,
    price min_price_increment_amount, price price_ratio, int32 inst_attrib_value, uint32 underlying_id, uint64 raw_instrument_id,
    int32 market_depth_implied, int32 market_depth, uint32 market_segment_id, uint32 max_trade_vol, int32 min_lot_size, int32 min_lot_size_block,
    int32 min_lot_size_round_lot, uint32 min_trade_vol, int32 contract_multiplier, int32 decay_quantity, int32 original_contract_size,
    int16 appl_id, uint16 maturity_year, uint16 decay_start_date, uint16 channel_id, text currency, text settl_currency, text secsubtype,
    text group, text exchange, text asset, text cfi, text security_type, text unit_of_measure, text underlying, text strike_price_currency,
    price strike_price, letter match_algorithm, uint8 main_fraction, uint8 price_display_format, uint8 sub_fraction, uint8 underlying_product,
    uint8 maturity_month, uint8 maturity_day, uint8 maturity_week, letter user_defined_instrument, int8 contract_multiplier_unit,
    int8 flow_schedule_type, uint8 tick_rule, uint16 leg_count, uint16 leg_index, uint32 leg_instrument_id, text leg_raw_symbol,
    letter leg_instrument_class, letter leg_side, price leg_price, price leg_delta, int32 leg_ratio_price_numerator,
    int32 leg_ratio_price_denominator, int32 leg_ratio_qty_numerator, int32 leg_ratio_qty_denominator, uint32 leg_underlying_id,
});

impl TickRecord for OhlcvMsg {
    fn columns() -> Vec<Column<Self>> {
        vec![
            order("ts_event", |record: &Self| record.hd.ts_event),
            uint8("rtype", |record: &Self| record.hd.rtype),
            uint16("publisher_id", |record: &Self| record.hd.publisher_id),
            uint32("instrument_id", |record: &Self| record.hd.instrument_id),
            price("open", |record: &Self| record.open),
            price("high", |record: &Self| record.high),
            price("low", |record: &Self| record.low),
            price("close", |record: &Self| record.close),
            uint64("volume", |record: &Self| record.volume),
        ]
    }

    fn head(&self) -> &RecordHeader {
        &self.hd
    }

    fn moment(&self) -> u64 {
        self.hd.ts_event
    }
}
