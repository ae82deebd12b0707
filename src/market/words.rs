//! Actions and sides: from text to one byte a row.

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt16Type, UInt32Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::binding::Value;
use super::error::MarketError;
use super::numbers::Integers;
use crate::units::{Aggressor, Scale, Side};

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
    /// The order is gone, whatever is left of it.
    Delete,
    /// A resting order is executed in part or whole; the row's side is the order's.
    Executed,
    /// An order that was not shown is executed; the row's side is the order's.
    Hidden,
    /// Executions of an auction.
    Cross,
}

const ACTIONS: [Action; 11] = [
    Action::Add,
    Action::Cancel,
    Action::Modify,
    Action::Clear,
    Action::Trade,
    Action::Fill,
    Action::None,
    Action::Delete,
    Action::Executed,
    Action::Hidden,
    Action::Cross,
];
const NO_ACTION: u8 = 6;

/// The vocabulary of one role: which byte a word is read as. Actions have the places of [`ACTIONS`]; sides are 0 none, 1 bid or buy,
/// 2 ask or sell; marks are 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// Databento's actions where a row is nothing without one.
    Actions,
    /// The same where a row also has a meaning without.
    OptionalActions,
    /// Databento's sides.
    Sides,
    /// Sides of trades: who initiated them.
    Aggressors,
    /// Sides of price levels.
    LevelSides,
    /// True: the buyer's order rested, so the seller initiated the trade.
    BuyerIsMaker,
    /// True: a bid.
    IsBid,
    /// True or false.
    Marks,
    /// LOBSTER's types of messages.
    LobsterTypes,
    /// LOBSTER's directions.
    Directions,
}

impl Words {
    /// How "true" is written in words.
    pub(super) const TRUE: &[&str] = &["true", "True", "TRUE", "t", "1"];
    const FALSE: &[&str] = &["false", "False", "FALSE", "f", "0"];

    /// Byte of a text; `None` when it is no word of the role.
    fn code(self, text: &str) -> Option<u8> {
        let place = |words: &[&str]| words.iter().position(|word| *word == text).and_then(|at| u8::try_from(at).ok());
        let is = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
        let truth = |yes: u8, no: u8| {
            let code = Words::TRUE.contains(&text).then_some(yes);
            code.or_else(|| Words::FALSE.contains(&text).then_some(no))
        };
        match self {
            Words::Actions | Words::OptionalActions => place(&["A", "C", "M", "R", "T", "F", "N"]),
            Words::Sides => place(&["N", "B", "A"]).or(text.is_empty().then_some(0)),
            Words::Aggressors if is(&["buy", "b"]) => Some(1),
            Words::Aggressors if is(&["sell", "s", "a"]) => Some(2),
            Words::Aggressors if is(&["", "n", "none", "unknown"]) => Some(0),
            Words::LevelSides if is(&["bid", "b", "buy"]) => Some(1),
            Words::LevelSides if is(&["ask", "a", "sell", "s", "offer"]) => Some(2),
            Words::Aggressors | Words::LevelSides => None,
            Words::BuyerIsMaker => truth(2, 1),
            Words::IsBid => truth(1, 2),
            Words::Marks => truth(1, 0),
            Words::LobsterTypes => match text {
                "1" => Some(0),
                "2" => Some(1),
                "3" => Some(7),
                "4" => Some(8),
                "5" => Some(9),
                "6" => Some(10),
                "7" => Some(NO_ACTION),
                _ => None,
            },
            Words::Directions => match text {
                "1" => Some(1),
                "-1" => Some(2),
                "0" => Some(0),
                _ => None,
            },
        }
    }

    /// Byte of a null.
    fn null(self) -> Option<u8> {
        match self {
            Words::OptionalActions => Some(NO_ACTION),
            Words::Sides | Words::Aggressors | Words::BuyerIsMaker => Some(0),
            _ => None,
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Words::Actions | Words::OptionalActions => "A, C, M, R, T, F, N",
            Words::Sides => "B, A, N",
            Words::Aggressors => "buy, sell, B, S, A, none (bid and ask would be levels)",
            Words::LevelSides => "bid, ask, buy, sell, B, A, S",
            Words::BuyerIsMaker | Words::IsBid | Words::Marks => "true, false, 1, 0",
            Words::LobsterTypes => "the LOBSTER types 1 to 7",
            Words::Directions => "1, -1, 0",
        }
    }

    /// What an action says when its row is a trade, as a store compares it.
    pub(super) fn trades(self) -> Vec<Value> {
        match self {
            Words::LobsterTypes => [4, 5, 6].map(Value::Whole).to_vec(),
            _ => vec![Value::Text("T".to_owned())],
        }
    }

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

    /// Who initiated an execution whose side is that of the order that came.
    pub(super) fn aggressor(byte: u8) -> Aggressor {
        match byte {
            1 => Aggressor::Buy,
            2 => Aggressor::Sell,
            _ => Aggressor::None,
        }
    }

    /// Who initiated an execution whose side is that of the order that rested.
    pub(super) fn against(byte: u8) -> Aggressor {
        match byte {
            1 => Aggressor::Sell,
            2 => Aggressor::Buy,
            _ => Aggressor::None,
        }
    }
}

/// Integers that can be words.
fn digit(value: i64) -> Option<&'static str> {
    const DIGITS: [&str; 11] = ["-1", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    usize::try_from(value.checked_add(1)?).ok().and_then(|at| DIGITS.get(at)).copied()
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
        let wrong = |row: usize, got: &str| MarketError::Word { column: column.into(), row, got: got.into(), expected: words.expected() };
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
                    out.push(words.null().ok_or_else(|| wrong(row, ""))?);
                    continue;
                }
                let key = *key as usize;
                let code = self.codes.get_mut(key).ok_or_else(|| wrong(row, "a key outside its dictionary"))?;
                if *code == UNSEEN {
                    *code = words.code(values.value(key)).unwrap_or(UNKNOWN);
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
                    true => words.null().ok_or_else(|| wrong(row, ""))?,
                    false => words.code(texts.value(row)).ok_or_else(|| wrong(row, texts.value(row)))?,
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
                let code = if text.is_empty() { words.null() } else { words.code(text) };
                out.push(code.ok_or_else(|| wrong(row, text))?);
            }
            return Ok(out);
        }
        if let Some(marks) = array.as_boolean_opt() {
            for row in 0..marks.len() {
                out.push(match is_null(row) {
                    true => words.null().ok_or_else(|| wrong(row, ""))?,
                    false => {
                        let word = if marks.value(row) { "true" } else { "false" };
                        words.code(word).ok_or_else(|| wrong(row, word))?
                    }
                });
            }
            return Ok(out);
        }
        if array.data_type().is_integer() {
            let numbers = Integers::read(column, array, Scale(0))?;
            for row in 0..array.len() {
                out.push(match numbers.get(row) {
                    None => words.null().ok_or_else(|| wrong(row, ""))?,
                    Some(value) => {
                        let code = digit(value).and_then(|word| words.code(word));
                        code.ok_or_else(|| wrong(row, &value.to_string()))?
                    }
                });
            }
            return Ok(out);
        }
        let expected = "symbols, text, CHAR, BOOLEAN and integers";
        Err(MarketError::ColumnType { column: column.into(), got: array.data_type().to_string().into(), expected })
    }
}
