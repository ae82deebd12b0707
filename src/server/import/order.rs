//! Watches the time column while it streams by.

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::buffer::ScalarBuffer;
use datafusion::arrow::datatypes::{
    DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};

use crate::server::cache::Facts;

/// First, last and order of the times seen so far, in the column's own unit.
#[derive(Debug, Default, Clone)]
pub(crate) struct OrderCheck {
    rows: u64,
    least: Option<i64>,
    greatest: Option<i64>,
    disorder: Option<u64>,
}

impl OrderCheck {
    /// Takes the times of the next rows.
    ///
    /// # Errors
    /// The number of the first row, counted over all batches, that has no time.
    pub(crate) fn add(&mut self, times: &dyn Array) -> Result<(), u64> {
        if let Some(nulls) = times.nulls().filter(|nulls| nulls.null_count() > 0) {
            let first = (0..times.len()).find(|&row| nulls.is_null(row)).unwrap_or_default();
            return Err(self.rows + first as u64);
        }
        for &time in values(times).iter().flat_map(|values| values.iter()) {
            // The greatest so far is the last row while nothing stepped back.
            if self.greatest.is_some_and(|greatest| time < greatest) {
                self.disorder.get_or_insert(self.rows);
            } else {
                self.greatest = Some(time);
            }
            self.least = Some(self.least.map_or(time, |least| least.min(time)));
            self.rows += 1;
        }
        Ok(())
    }

    /// Counts rows of a table that has no times.
    pub(crate) fn add_untimed(&mut self, rows: usize) {
        self.rows += rows as u64;
    }

    /// Number of the first row whose time is smaller than one before it.
    pub(crate) fn disorder(&self) -> Option<u64> {
        self.disorder
    }

    /// What is to be remembered.
    pub(crate) fn facts(&self, in_place: bool) -> Facts {
        Facts { in_place, rows: self.rows, first: self.least, last: self.greatest }
    }
}

/// The integers of a timestamp column.
pub(super) fn values(times: &dyn Array) -> Option<&ScalarBuffer<i64>> {
    let DataType::Timestamp(unit, _) = times.data_type() else { return None };
    match unit {
        TimeUnit::Second => times.as_primitive_opt::<TimestampSecondType>().map(|array| array.values()),
        TimeUnit::Millisecond => times.as_primitive_opt::<TimestampMillisecondType>().map(|array| array.values()),
        TimeUnit::Microsecond => times.as_primitive_opt::<TimestampMicrosecondType>().map(|array| array.values()),
        TimeUnit::Nanosecond => times.as_primitive_opt::<TimestampNanosecondType>().map(|array| array.values()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{TimestampMicrosecondArray, TimestampNanosecondArray};

    #[test]
    fn ties_are_order_and_a_step_back_is_not() {
        let mut check = OrderCheck::default();
        check.add(&TimestampNanosecondArray::from(vec![5, 5, 7])).unwrap();
        assert_eq!(check.disorder(), None);
        check.add(&TimestampNanosecondArray::from(vec![7, 6, 9, 4])).unwrap();
        assert_eq!(check.disorder(), Some(4));
        assert_eq!(check.facts(false), Facts { in_place: false, rows: 7, first: Some(4), last: Some(9) });
    }

    #[test]
    fn a_row_without_time_is_named() {
        let mut check = OrderCheck::default();
        check.add(&TimestampMicrosecondArray::from(vec![1, 2])).unwrap();
        assert_eq!(check.add(&TimestampMicrosecondArray::from(vec![Some(3), None])), Err(3));
    }
}
