//! Actions and sides: from text to one byte a row.

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt16Type, UInt32Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::error::MarketError;
use crate::units::{Aggressor, Side};

/// What a row says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Add,
    Cancel,
    Modify,
    Clear,
    Trade,
    Fill,
    None,
}

/// The letters of one role.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    /// Byte of a text; `None` when it is no word of the role.
    code: fn(&str) -> Option<u8>,
    /// Byte of a null.
    null: Option<u8>,
    expected: &'static str,
}

const ACTIONS: [Action; 7] = [Action::Add, Action::Cancel, Action::Modify, Action::Clear, Action::Trade, Action::Fill, Action::None];

impl Words {
    /// Actions of a feed whose rows are nothing without one.
    pub(super) const ACTIONS: Words = Words { code: action_code, null: None, expected: "A, C, M, R, T, F, N" };
    /// Actions where a row also has a meaning without.
    pub(super) const OPTIONAL_ACTIONS: Words = Words { null: Some(6), ..Words::ACTIONS };
    /// Sides.
    pub(super) const SIDES: Words = Words { code: side_code, null: Some(0), expected: "B, A, N" };

    /// The action of a byte.
    pub(super) fn action(byte: u8) -> Action {
        ACTIONS.get(usize::from(byte)).copied().unwrap_or(Action::None)
    }

    /// The side of a resting order.
    pub(super) fn side(byte: u8) -> Option<Side> {
        match byte {
            1 => Some(Side::Bid),
            2 => Some(Side::Ask),
            _ => None,
        }
    }

    /// The side of a trade is the side of the order that initiated it.
    pub(super) fn aggressor(byte: u8) -> Aggressor {
        match byte {
            1 => Aggressor::Buy,
            2 => Aggressor::Sell,
            _ => Aggressor::None,
        }
    }
}

fn action_code(text: &str) -> Option<u8> {
    let at = ["A", "C", "M", "R", "T", "F", "N"].iter().position(|letter| *letter == text)?;
    u8::try_from(at).ok()
}

fn side_code(text: &str) -> Option<u8> {
    match text {
        "N" | "" => Some(0),
        "B" => Some(1),
        "A" => Some(2),
        _ => None,
    }
}

const UNSEEN: u8 = u8::MAX;
const UNKNOWN: u8 = u8::MAX - 1;

/// Reads the columns of one role, batch after batch. The entries of a symbol dictionary are looked at once, and only those that
/// rows name: a connection's dictionary holds the symbols of every column and can be large.
#[derive(Debug)]
pub(super) struct WordReader {
    words: Words,
    dictionary: Option<ArrayRef>,
    codes: Vec<u8>,
}

impl WordReader {
    pub(super) fn new(words: Words) -> WordReader {
        WordReader { words, dictionary: None, codes: Vec::new() }
    }

    /// One byte a row.
    pub(super) fn read(&mut self, column: &str, array: &ArrayRef) -> Result<Vec<u8>, MarketError> {
        let words = self.words;
        let wrong = |row: usize, got: &str| MarketError::Word { column: column.into(), row, got: got.into(), expected: words.expected };
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let mut out = Vec::with_capacity(array.len());
        if let Some(dictionary) = array.as_dictionary_opt::<UInt32Type>()
            && let Some(values) = dictionary.values().as_string_opt::<i32>()
        {
            let same = self.dictionary.as_ref().is_some_and(|known| known.to_data().ptr_eq(&dictionary.values().to_data()));
            if !same {
                self.codes.clear();
                self.codes.resize(values.len(), UNSEEN);
                self.dictionary = Some(dictionary.values().clone());
            }
            for (row, key) in dictionary.keys().values().iter().enumerate() {
                if is_null(row) {
                    out.push(words.null.ok_or_else(|| wrong(row, ""))?);
                    continue;
                }
                let key = *key as usize;
                let code = self.codes.get_mut(key).ok_or_else(|| wrong(row, "a key outside its dictionary"))?;
                if *code == UNSEEN {
                    *code = (words.code)(values.value(key)).unwrap_or(UNKNOWN);
                }
                if *code == UNKNOWN {
                    return Err(wrong(row, values.value(key)));
                }
                out.push(*code);
            }
            return Ok(out);
        }
        if let Some(texts) = array.as_string_opt::<i32>() {
            for row in 0..texts.len() {
                out.push(match is_null(row) {
                    true => words.null.ok_or_else(|| wrong(row, ""))?,
                    false => (words.code)(texts.value(row)).ok_or_else(|| wrong(row, texts.value(row)))?,
                });
            }
            return Ok(out);
        }
        if *array.data_type() == DataType::UInt16 {
            for (row, unit) in array.as_primitive::<UInt16Type>().values().iter().enumerate() {
                let mut buffer = [0; 4];
                // A CHAR that is null is 0 on the wire.
                let text = match char::from_u32(u32::from(*unit)).filter(|letter| *letter != '\0' && !is_null(row)) {
                    Some(letter) => &*letter.encode_utf8(&mut buffer),
                    None => "",
                };
                let code = if text.is_empty() { words.null } else { (words.code)(text) };
                out.push(code.ok_or_else(|| wrong(row, text))?);
            }
            return Ok(out);
        }
        let expected = "symbols, text and CHAR";
        Err(MarketError::ColumnType { column: column.into(), got: array.data_type().to_string().into(), expected })
    }
}
