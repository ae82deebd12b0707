use super::*;

/// Hands text out in pieces.
struct Pieces<'a> {
    rest: &'a [u8],
    size: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let size = self.size.min(self.rest.len()).min(buffer.len());
        let (now, rest) = self.rest.split_at(size);
        buffer[..size].copy_from_slice(now);
        self.rest = rest;
        Ok(size)
    }
}

/// Line and fields of each record, and the problem at the end.
fn all(text: &[u8], size: usize) -> (Vec<(u64, Vec<String>)>, Option<String>) {
    let mut records = Records::new(Pieces { rest: text, size }, b',');
    let mut found = Vec::new();
    loop {
        match records.next() {
            Ok(Some(record)) => found.push((record.line, record.fields().map(str::to_owned).collect())),
            Ok(None) => return (found, None),
            Err(BadRecord::Broken { line, problem }) => return (found, Some(format!("{line}: {problem}"))),
            Err(BadRecord::Read(error)) => panic!("{error}"),
        }
    }
}

#[test]
fn records_are_the_same_however_they_arrive() {
    let text = "\u{FEFF}a,b,\r\n\n\"x \"\"y\"\", z\",\"two\r\nlines\",\u{e9}\n\r\n,,\n\"\",1,\"2\"\r\nlast,\"one\",x".as_bytes();
    let fields = |fields: &[&str]| fields.iter().map(|&field| field.to_owned()).collect::<Vec<_>>();
    let expected = vec![
        (1, fields(&["a", "b", ""])),
        (3, fields(&["x \"y\", z", "two\r\nlines", "\u{e9}"])),
        (6, fields(&["", "", ""])),
        (7, fields(&["", "1", "2"])),
        (8, fields(&["last", "one", "x"])),
    ];
    for size in 1..text.len() + 1 {
        assert_eq!(all(text, size), (expected.clone(), None), "{size} bytes at a time");
    }
}

#[test]
fn what_breaks_a_record_is_named_with_its_line() {
    for (text, problem) in [
        (&b"a,b\n1,\"x\n2,y\n"[..], "2: a quote is opened and never closed"),
        (b"a,b\n\n1,x\"y\n", "3: a quote stands in the middle of a field: put the whole field in quotes, and double those inside"),
        (b"a,b\n1,\"x\"y\n", "2: a quote stands in the middle of a field: put the whole field in quotes, and double those inside"),
        (b"a,b\n1,\xC3\n", "2: its byte 3 is not UTF-8: convert the file to UTF-8"),
    ] {
        assert_eq!(all(text, 7).1.as_deref(), Some(problem));
    }
    let long = [b"a,b\n\"".as_slice(), &vec![b'x'; 2 * MAX_RECORD_BYTES]].concat();
    assert!(all(&long, 1 << 16).1.unwrap().starts_with("2: no end of this record within 1048576 bytes"));
    let wide = vec![b','; MAX_COLUMNS];
    assert_eq!(all(&wide, 1 << 16).1.unwrap(), "1: 4097 fields: at most 4096 are read");
}
