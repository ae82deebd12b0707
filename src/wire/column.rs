//! The columns of a batch, one pass from message bytes to typed vectors over all rows, null slots zero.
//!
//! ```text
//!  null_flag u8 (0 or 1) · if 1: ceil(rows/8) bytes, bit 1 = null · values of the other rows, packed
//!  BOOLEAN          ceil(n/8) bytes of bits             SYMBOL   n × varint id
//!  fixed widths     n × 1, 2, 4, 8, 16 or 32 bytes      VARCHAR, BINARY   (n+1) × u32 offsets · bytes
//!  DECIMAL          scale u8 · n × 8, 16 or 32 bytes    GEOHASH  precision varint · n × ceil(precision/8) bytes
//!  TIMESTAMP, DATE  [encoding u8] · n × i64 or Gorilla  arrays   n × (dimensions u8 · lengths i32 · elements, row-major)
//! ```

use super::bits::{Validity, clear_padding, pack};
use super::dictionary::Symbols;
use super::error::{WireError, WireFault};
use super::limits::{ARRAY_DIMENSIONS, ARRAY_NODES, Limit};
use super::reader::Reader;
use super::schema::ColumnType;
use super::values::{Column, Geohash, Lists, SymbolKeys, Text, Values};

/// What the columns of a batch share while they are read.
pub(super) struct Context {
    pub(super) rows: usize,
    /// Header flag 0x04: an encoding byte stands before timestamps.
    pub(super) encoded_times: bool,
    /// Length of the connection's dictionary, or `None` when each symbol column brings its own table.
    pub(super) dictionary: Option<u64>,
    pub(super) max_table_bytes: u64,
    /// Dense bytes that the batch may still take.
    pub(super) budget: u64,
    pub(super) max_budget: u64,
}

impl Context {
    /// Charges `count` items of `width` bytes before they are allocated.
    fn charge(&mut self, reader: &Reader<'_>, count: usize, width: usize) -> Result<(), WireError> {
        let bytes = (count as u64).saturating_mul(width as u64);
        match self.budget.checked_sub(bytes) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => {
                let got = self.max_budget.saturating_sub(self.budget).saturating_add(bytes);
                Err(reader.fault(WireFault::OverLimit { limit: Limit::DenseBytes, max: self.max_budget, got }))
            }
        }
    }
}

/// Which rows hold a value, and how many.
struct Presence {
    rows: usize,
    values: usize,
    validity: Option<Validity>,
}

impl Presence {
    fn read(reader: &mut Reader<'_>, context: &mut Context) -> Result<Presence, WireError> {
        let rows = context.rows;
        let at = reader.clone();
        match reader.u8()? {
            0 => Ok(Presence { rows, values: rows, validity: None }),
            1 => {
                context.charge(reader, rows.div_ceil(8), 1)?;
                let bitmap = reader.take(rows.div_ceil(8) as u64)?;
                let validity = Validity::from_null_bitmap(bitmap, rows);
                let nulls = validity.as_ref().map_or(0, Validity::null_count);
                Ok(Presence { rows, values: rows.saturating_sub(nulls), validity })
            }
            got => Err(at.fault(WireFault::NullFlag { got })),
        }
    }

    /// A slot per row out of the packed values.
    fn spread<T: Copy + Default>(&self, mut packed: impl ExactSizeIterator<Item = T>) -> Vec<T> {
        let Some(validity) = &self.validity else {
            return packed.collect();
        };
        let mut dense = Vec::with_capacity(self.rows);
        // The packed values are as many as bits are set.
        dense.extend(validity.as_bits().iter().map(|valid| if valid { packed.next().unwrap_or_default() } else { T::default() }));
        dense
    }

    /// A flag per row, in order.
    fn each_row(&self) -> impl Iterator<Item = bool> {
        let all = self.validity.is_none();
        let bits = self.validity.as_ref().map(Validity::as_bits);
        (0..self.rows).map(move |row| all || bits.as_ref().is_some_and(|bits| bits.get(row)))
    }
}

/// Reads one column.
pub(super) fn read(reader: &mut Reader<'_>, column_type: ColumnType, context: &mut Context) -> Result<Column, WireError> {
    let presence = Presence::read(reader, context)?;
    let values = match column_type {
        ColumnType::Boolean => Values::Boolean(booleans(reader, &presence, context)?),
        ColumnType::Byte => Values::Byte(fixed(reader, &presence, context, i8::from_le_bytes)?),
        ColumnType::Short => Values::Short(fixed(reader, &presence, context, i16::from_le_bytes)?),
        ColumnType::Int => Values::Int(fixed(reader, &presence, context, i32::from_le_bytes)?),
        ColumnType::Long => Values::Long(fixed(reader, &presence, context, i64::from_le_bytes)?),
        ColumnType::Float => Values::Float(fixed(reader, &presence, context, f32::from_le_bytes)?),
        ColumnType::Double => Values::Double(fixed(reader, &presence, context, f64::from_le_bytes)?),
        ColumnType::Char => Values::Char(fixed(reader, &presence, context, u16::from_le_bytes)?),
        ColumnType::Ipv4 => Values::Ipv4(fixed(reader, &presence, context, u32::from_le_bytes)?),
        ColumnType::Symbol => Values::Symbol(symbols(reader, &presence, context)?),
        ColumnType::Timestamp => Values::Timestamp(times(reader, &presence, context)?),
        ColumnType::Date => Values::Date(times(reader, &presence, context)?),
        ColumnType::TimestampNanos => Values::TimestampNanos(times(reader, &presence, context)?),
        ColumnType::Uuid => {
            let reversed = |mut bytes: [u8; 16]| {
                bytes.reverse();
                bytes
            };
            Values::Uuid(fixed(reader, &presence, context, reversed)?.into_flattened())
        }
        ColumnType::Long256 => Values::Long256(fixed(reader, &presence, context, |bytes: [u8; 32]| bytes)?.into_flattened()),
        ColumnType::Geohash => geohashes(reader, &presence, context)?,
        ColumnType::Varchar => Values::Varchar(text(reader, &presence, context, true)?),
        ColumnType::Binary => Values::Binary(text(reader, &presence, context, false)?),
        ColumnType::DoubleArray => Values::DoubleArray(arrays(reader, &presence, context, f64::from_le_bytes)?),
        ColumnType::LongArray => Values::LongArray(arrays(reader, &presence, context, i64::from_le_bytes)?),
        ColumnType::Decimal64 => {
            let scale = scale(reader, 18)?;
            Values::Decimal64 { scale, values: fixed(reader, &presence, context, i64::from_le_bytes)? }
        }
        ColumnType::Decimal128 => {
            let scale = scale(reader, 38)?;
            Values::Decimal128 { scale, values: fixed(reader, &presence, context, i128::from_le_bytes)? }
        }
        ColumnType::Decimal256 => {
            let scale = scale(reader, 76)?;
            let values = fixed(reader, &presence, context, |bytes: [u8; 32]| {
                let (halves, _) = bytes.as_chunks::<16>();
                let mut halves = halves.iter().map(|half| i128::from_le_bytes(*half));
                [halves.next().unwrap_or_default(), halves.next().unwrap_or_default()]
            })?;
            Values::Decimal256 { scale, values: values.into_flattened() }
        }
    };
    Ok(Column { validity: presence.validity, values })
}

fn fixed<T: Copy + Default, const N: usize>(
    reader: &mut Reader<'_>,
    presence: &Presence,
    context: &mut Context,
    value: impl Fn([u8; N]) -> T,
) -> Result<Vec<T>, WireError> {
    context.charge(reader, presence.rows, size_of::<T>())?;
    let (packed, _) = reader.take_items(presence.values as u64, N as u64)?.as_chunks::<N>();
    Ok(presence.spread(packed.iter().map(|bytes| value(*bytes))))
}

fn booleans(reader: &mut Reader<'_>, presence: &Presence, context: &mut Context) -> Result<Vec<u8>, WireError> {
    context.charge(reader, presence.rows.div_ceil(8), 1)?;
    let packed = reader.take(presence.values.div_ceil(8) as u64)?;
    if presence.validity.is_none() {
        let mut bits = packed.to_vec();
        clear_padding(&mut bits, presence.rows);
        return Ok(bits);
    }
    let mut set = packed.iter().flat_map(|byte| (0..8u32).map(|bit| byte.wrapping_shr(bit) & 1 == 1));
    let mut bits = Vec::with_capacity(presence.rows.div_ceil(8));
    pack(presence.each_row().map(|valid| valid && set.next().unwrap_or_default()), &mut bits);
    Ok(bits)
}

fn symbols(reader: &mut Reader<'_>, presence: &Presence, context: &mut Context) -> Result<SymbolKeys, WireError> {
    let (table, length) = match context.dictionary {
        Some(length) => (None, length),
        None => {
            let table = Symbols::read_table(reader, presence.rows as u64, context.max_table_bytes)?;
            let length = table.len() as u64;
            (Some(table), length)
        }
    };
    context.charge(reader, presence.rows, 4)?;
    if presence.values as u64 > reader.left() {
        return Err(reader.fault(WireFault::Truncated { needed: presence.values as u64, left: reader.left() }));
    }
    let mut keys = Vec::with_capacity(presence.rows);
    for valid in presence.each_row() {
        if !valid {
            keys.push(0);
            continue;
        }
        let id = reader.varint()?;
        match u32::try_from(id) {
            Ok(key) if id < length => keys.push(key),
            _ => return Err(reader.fault(WireFault::SymbolId { length, got: id })),
        }
    }
    Ok(SymbolKeys { keys, table })
}

fn times(reader: &mut Reader<'_>, presence: &Presence, context: &mut Context) -> Result<Vec<i64>, WireError> {
    let at = reader.clone();
    let encoding = if context.encoded_times { reader.u8()? } else { 0 };
    match encoding {
        0 => fixed(reader, presence, context, i64::from_le_bytes),
        1 => {
            // Packed values and dense ones stand beside each other for a moment when there are nulls.
            context.charge(reader, presence.rows, 8)?;
            let packed = reader.gorilla(presence.values)?;
            if presence.validity.is_none() {
                return Ok(packed);
            }
            Ok(presence.spread(packed.into_iter()))
        }
        got => Err(at.fault(WireFault::Encoding { got })),
    }
}

fn scale(reader: &mut Reader<'_>, max: u8) -> Result<u8, WireError> {
    let at = reader.clone();
    let got = reader.u8()?;
    if got <= max { Ok(got) } else { Err(at.fault(WireFault::Scale { max, got })) }
}

/// A geohash precision: 1 to 60 bits.
pub(super) fn precision(reader: &mut Reader<'_>) -> Result<u8, WireError> {
    let at = reader.clone();
    let got = reader.varint()?;
    match u8::try_from(got) {
        Ok(bits @ 1..=60) => Ok(bits),
        _ => Err(at.fault(WireFault::Precision { got })),
    }
}

fn geohashes(reader: &mut Reader<'_>, presence: &Presence, context: &mut Context) -> Result<Values, WireError> {
    let precision = precision(reader)?;
    let bytes = usize::from(precision.div_ceil(8));
    context.charge(reader, presence.rows, 8)?;
    let packed = reader.take_items(presence.values as u64, bytes as u64)?;
    let mask = u64::MAX.wrapping_shr(64u32.wrapping_sub(u32::from(precision)));
    let packed = packed.chunks_exact(bytes).map(|bytes| {
        let value = bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        value & mask
    });
    // The mask leaves fewer bits than the integer has, so no cast changes the value or its sign.
    let values = match precision {
        1..=7 => Geohash::I8(presence.spread(packed.map(|value| value as i8))),
        8..=15 => Geohash::I16(presence.spread(packed.map(|value| value as i16))),
        16..=31 => Geohash::I32(presence.spread(packed.map(|value| value as i32))),
        _ => Geohash::I64(presence.spread(packed.map(|value| value as i64))),
    };
    Ok(Values::Geohash { precision, values })
}

fn text(reader: &mut Reader<'_>, presence: &Presence, context: &mut Context, utf8: bool) -> Result<Text, WireError> {
    context.charge(reader, presence.rows.saturating_add(1), 4)?;
    let at = reader.clone();
    let (wire, _) = reader.take_items((presence.values as u64).saturating_add(1), 4)?.as_chunks::<4>();
    let most = reader.left().min(i32::MAX as u64);
    let mut before = 0u32;
    for (index, bytes) in wire.iter().enumerate() {
        let offset = u32::from_le_bytes(*bytes);
        let (from, to) = if index == 0 { (0, 0) } else { (u64::from(before), most) };
        if u64::from(offset) < from || u64::from(offset) > to {
            return Err(at.fault(WireFault::TextOffset { from, to, got: u64::from(offset) }));
        }
        before = offset;
    }
    context.charge(reader, before as usize, 1)?;
    let start = reader.clone();
    let bytes = reader.take(u64::from(before))?;
    if utf8 && !bytes.is_ascii() {
        let text = std::str::from_utf8(bytes).map_err(|_| start.fault(WireFault::Utf8))?;
        for offset in wire.iter().map(|bytes| u32::from_le_bytes(*bytes)) {
            if !text.is_char_boundary(offset as usize) {
                return Err(start.fault(WireFault::CharBoundary { got: u64::from(offset) }));
            }
        }
    }
    // All are at most i32::MAX by the check above.
    let mut wire = wire.iter().map(|bytes| i32::from_le_bytes(*bytes));
    let offsets = if presence.validity.is_none() {
        wire.collect()
    } else {
        let mut offsets = Vec::with_capacity(presence.rows.saturating_add(1));
        let mut end = wire.next().unwrap_or_default();
        offsets.push(end);
        for valid in presence.each_row() {
            if valid {
                end = wire.next().unwrap_or(end);
            }
            offsets.push(end);
        }
        offsets
    };
    Ok(Text { offsets, bytes: bytes.to_vec() })
}

fn arrays<T: Copy>(
    reader: &mut Reader<'_>,
    presence: &Presence,
    context: &mut Context,
    element: impl Fn([u8; 8]) -> T,
) -> Result<Lists<T>, WireError> {
    context.charge(reader, presence.rows.saturating_add(1), 4)?;
    let mut rows = Vec::with_capacity(presence.rows.saturating_add(1));
    rows.push(0i32);
    let mut lists = Lists { dimensions: 0, offsets: vec![rows], elements: Vec::new() };
    let mut nodes = 0u64;
    for valid in presence.each_row() {
        if !valid {
            let rows = lists.offsets.first_mut();
            if let Some(rows) = rows {
                rows.push(rows.last().copied().unwrap_or_default());
            }
            continue;
        }
        let at = reader.clone();
        let dimensions = reader.u8()?;
        if dimensions == 0 || u64::from(dimensions) > ARRAY_DIMENSIONS {
            return Err(at.fault(WireFault::Dimensions { got: dimensions }));
        }
        if lists.dimensions == 0 {
            lists.dimensions = dimensions;
            lists.offsets.resize(usize::from(dimensions), vec![0]);
        } else if lists.dimensions != dimensions {
            return Err(at.fault(WireFault::DimensionsDiffer { expected: lists.dimensions, got: dimensions }));
        }
        // Lists of the level: one at the outermost, then the product of the lengths so far.
        let mut product = 1u64;
        let mut elements = 0u64;
        let last = lists.offsets.len().saturating_sub(1);
        for (level, offsets) in lists.offsets.iter_mut().enumerate() {
            let at = reader.clone();
            let got = reader.i32()?;
            let Ok(length) = u64::try_from(got) else {
                return Err(at.fault(WireFault::ArrayLength { got }));
            };
            let lists_here = product;
            product = product.saturating_mul(length);
            nodes = nodes.saturating_add(product);
            if nodes > ARRAY_NODES {
                return Err(at.fault(WireFault::OverLimit { limit: Limit::ArrayNodes, max: ARRAY_NODES, got: nodes }));
            }
            context.charge(&at, product as usize, if level == last { 8 } else { 4 })?;
            let mut end = offsets.last().copied().unwrap_or_default();
            for _ in 0..lists_here {
                // Cannot pass i32: the sum of all lengths of a level is at most ARRAY_NODES.
                end = end.wrapping_add(got);
                offsets.push(end);
            }
            elements = product;
        }
        let (values, _) = reader.take_items(elements, 8)?.as_chunks::<8>();
        if lists.elements.is_empty() {
            // Rows of a column mostly have one shape; what is reserved is bounded by the bytes that are left.
            let expected = (presence.rows as u64).saturating_mul(elements).min((reader.left() / 8).saturating_add(elements));
            lists.elements.reserve(usize::try_from(expected).unwrap_or(0));
        }
        lists.elements.extend(values.iter().map(|bytes| element(*bytes)));
    }
    Ok(lists)
}
