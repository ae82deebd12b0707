//! Arrays in a field, as QuestDB exports them: `[1.5,2]`, `[[5214.25,5214.5],[10,3]]`. Arrays of the wire hold floating point, so a
//! number in one is taken only where its float is written the same.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Float64Array, ListArray};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::arrow::error::ArrowError;

use super::cell::Number;

/// Decimals of so many digits come back from a float as they were.
const SURE_DIGITS: usize = 15;

/// The arrays of a column.
pub(super) struct Arrays {
    depth: u8,
    values: Vec<f64>,
    /// Ends of the rows of arrays of depth 2, in values.
    inner: Vec<usize>,
    /// Ends of the arrays.
    outer: Vec<usize>,
}

impl Arrays {
    /// None yet.
    pub(super) fn new(depth: u8) -> Arrays {
        Arrays { depth, values: Vec::new(), inner: Vec::new(), outer: Vec::new() }
    }

    /// Appends an array.
    ///
    /// # Errors
    /// What the text is not.
    pub(super) fn push(&mut self, text: &str) -> Result<(), &'static str> {
        parse(text, self.depth, &mut self.values, &mut self.inner)?;
        self.push_none();
        Ok(())
    }

    /// Appends nothing in the place of an array.
    pub(super) fn push_none(&mut self) {
        self.outer.push(if self.depth == 1 { self.values.len() } else { self.inner.len() });
    }

    /// The arrays since the last call.
    ///
    /// # Errors
    /// More values than a batch can have.
    pub(super) fn take(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let values: ArrayRef = Arc::new(Float64Array::from(std::mem::take(&mut self.values)));
        let values = match self.depth {
            1 => values,
            _ => list(values, &std::mem::take(&mut self.inner), None)?,
        };
        list(values, &std::mem::take(&mut self.outer), nulls)
    }
}

/// The type of a column of arrays.
pub(super) fn data_type(depth: u8) -> DataType {
    let items = if depth == 1 { DataType::Float64 } else { data_type(1) };
    DataType::List(Arc::new(Field::new_list_field(items, false)))
}

fn list(values: ArrayRef, ends: &[usize], nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
    let offset = |&end: &usize| i32::try_from(end).map_err(|_| ArrowError::InvalidArgumentError("too many values in arrays".to_owned()));
    let offsets = std::iter::once(Ok(0)).chain(ends.iter().map(offset)).collect::<Result<Vec<i32>, _>>()?;
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), false));
    Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::new(offsets.into()), values, nulls)?))
}

/// How deep an array is; `None` for a text that is none.
///
/// # Errors
/// A number in it that a float does not keep.
pub(super) fn depth(text: &str) -> Option<Result<u8, &'static str>> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let depth = if inner.trim_start().starts_with('[') { 2 } else { 1 };
    match parse(text, depth, &mut Vec::new(), &mut Vec::new()) {
        Ok(()) => Some(Ok(depth)),
        Err(INEXACT) => Some(Err(INEXACT)),
        Err(_) => None,
    }
}

const INEXACT: &str = "holds a number of more digits than an array keeps: write the levels in columns of their own";
const NO_ARRAY: &str = "is no array of numbers as the others are";

fn parse(text: &str, depth: u8, values: &mut Vec<f64>, inner: &mut Vec<usize>) -> Result<(), &'static str> {
    let items = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).ok_or(NO_ARRAY)?.trim();
    if items.is_empty() {
        return Ok(());
    }
    if depth == 1 {
        return items.split(',').try_for_each(|item| {
            values.push(float(item.trim())?);
            Ok(())
        });
    }
    let mut rest = items;
    loop {
        let (row, behind) = rest.split_once(']').ok_or(NO_ARRAY)?;
        let row = row.strip_prefix('[').ok_or(NO_ARRAY)?.trim();
        for item in row.split(',').filter(|_| !row.is_empty()) {
            values.push(float(item.trim())?);
        }
        inner.push(values.len());
        rest = match behind.trim_start().strip_prefix(',') {
            Some(next) => next.trim_start(),
            None if behind.trim().is_empty() => return Ok(()),
            None => return Err(NO_ARRAY),
        };
    }
}

fn float(text: &str) -> Result<f64, &'static str> {
    let number = Number::parse(text).ok_or(NO_ARRAY)?;
    let value: f64 = text.parse().map_err(|_| NO_ARRAY)?;
    let digits = number.significant();
    let kept = digits.len() <= SURE_DIGITS || Number::parse(&value.to_string()).is_some_and(|back| back.significant() == digits);
    if kept && value.is_finite() { Ok(value) } else { Err(INEXACT) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_told_from_text_and_keep_their_numbers() {
        for (text, expected) in [
            ("[]", Some(Ok(1))),
            ("[1, 2.5,-3e-9]", Some(Ok(1))),
            ("[[1,2],[ 3.25 ]]", Some(Ok(2))),
            ("[[],[]]", Some(Ok(2))),
            ("[0.30000000000000004]", Some(Ok(1))),
            ("[0.3000000000000000412]", Some(Err(INEXACT))),
            ("[1,]", None),
            ("[a]", None),
            ("[[1],2]", None),
            ("[[1]", None),
            ("[1]]", None),
            ("[[[1]]]", None),
            ("x", None),
        ] {
            assert_eq!(depth(text), expected, "{text}");
        }
    }
}
