use super::*;

#[derive(Debug)]
struct Times(Vec<i64>);

impl TimedRows for Times {
    fn times(&self) -> &[i64] {
        &self.0
    }
    fn bytes(&self) -> usize {
        self.0.len() * 8
    }
}

fn history(batches: &[&[i64]]) -> History<Times> {
    let mut history = History::new(1_000);
    history.begin(UnixNanos(0), 0);
    for batch in batches {
        history.append(Times(batch.to_vec())).unwrap();
    }
    history
}

#[test]
fn the_rows_of_the_newest_time_are_hidden_until_it_is_complete() {
    let mut history = history(&[&[1, 2, 2], &[2, 2]]);
    assert_eq!((history.visible_end(), history.complete_to()), (1, UnixNanos(2)));
    history.append(Times(vec![2, 3])).unwrap();
    assert_eq!((history.visible_end(), history.complete_to()), (6, UnixNanos(3)));
    assert!(history.get(6).is_none());
    history.complete(UnixNanos(10));
    assert_eq!((history.visible_end(), history.complete_to()), (7, UnixNanos(10)));
}

#[test]
fn a_cut_tail_is_asked_for_again_and_is_not_doubled() {
    let mut history = history(&[&[1, 2, 2], &[2, 2]]);
    history.cut_hidden();
    assert_eq!(history.visible_end(), 1);
    history.append(Times(vec![2, 2, 2, 2, 5])).unwrap();
    history.complete(UnixNanos(9));
    let times: Vec<_> = (0..6).map(|index| history.time(index).unwrap().0).collect();
    assert_eq!(times, [1, 2, 2, 2, 2, 5]);
    assert!(history.time(6).is_none());
}

#[test]
fn rows_not_applied_are_never_forgotten() {
    let mut history = history(&[&[1; 50], &[2; 50]]);
    history.complete(UnixNanos(3));
    assert!(!history.reserve(300, 49), "the first batch is not applied as a whole");
    assert_eq!(history.first(), 0);
    assert!(history.reserve(300, 50));
    assert_eq!(history.first(), 50);
    assert!(!history.reserve(1_000, 60));
    assert!(history.time(50).is_some());
}

#[test]
fn ties_keep_their_first_index_when_it_was_forgotten() {
    let mut history = history(&[&[1, 7], &[7, 7, 8]]);
    history.complete(UnixNanos(9));
    assert!(history.reserve(970, 2));
    assert_eq!(history.first(), 2);
    assert_eq!((history.lower_bound(UnixNanos(7)), history.upper_bound(UnixNanos(7))), (1, 4));
}

#[test]
fn a_step_back_in_time_is_refused_within_a_batch_and_across() {
    let mut history = history(&[&[1, 5]]);
    let wrong = history.append(Times(vec![5, 4, 3])).unwrap_err();
    assert_eq!(wrong, OutOfOrder { row: 1, time: UnixNanos(4), previous: UnixNanos(5), count: 2 });
    assert!(history.append(Times(vec![4])).is_err());
    assert!(history.append(Times(vec![5, 6])).is_ok());
}

#[test]
fn bounds_are_found_across_batches_and_cuts() {
    let mut history = history(&[&[1, 2], &[2, 3], &[3, 3, 9]]);
    history.complete(UnixNanos(10));
    for (time, lower, upper) in [(0, 0, 0), (1, 0, 1), (2, 1, 3), (3, 3, 6), (4, 6, 6), (9, 6, 7), (10, 7, 7)] {
        assert_eq!((history.lower_bound(UnixNanos(time)), history.upper_bound(UnixNanos(time))), (lower, upper), "{time}");
    }
}

#[test]
fn a_new_run_numbers_its_rows_from_where_it_is_told() {
    let mut history = history(&[&[1, 2]]);
    history.begin(UnixNanos(5), -3);
    history.append(Times(vec![5, 6, 7, 8])).unwrap();
    history.finish();
    assert_eq!((history.first(), history.time(0), history.visible_end()), (-3, Some(UnixNanos(8)), 1));
    assert!(history.ended());
}

#[test]
fn pending_bytes_count_what_is_not_applied() {
    let history = history(&[&[1, 2], &[3, 4]]);
    assert_eq!((history.bytes_after(0), history.bytes_after(1), history.bytes_after(3), history.bytes_after(4)), (32, 24, 8, 0));
}
