//! Rust sources as text without comments, literals and tests, and the names in them: enough to see who names whom.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of the tree.
pub struct SourceFile {
    /// Path from the package's root.
    pub path: String,
    /// The text as it is.
    pub text: String,
}

/// All files below `directory` (from the package's root) whose name ends in one of `endings`, sorted; build output is left out.
pub fn files(directory: &str, endings: &[&str]) -> Vec<SourceFile> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    collect(&root, &root.join(directory), endings, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(root: &Path, directory: &Path, endings: &[&str], found: &mut Vec<SourceFile>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && name != ".git" {
                collect(root, &path, endings, found);
            }
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            let path_here = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            // What is not text (a picture) has no lines to check.
            if let Ok(text) = fs::read_to_string(&path) {
                found.push(SourceFile { path: path_here, text });
            }
        }
    }
}

impl SourceFile {
    /// The part that a file of `src` belongs to: the first name of its path.
    pub fn part(&self) -> &str {
        let inside = self.path.strip_prefix("src/").unwrap_or(&self.path);
        let end = inside.find(['/', '.']).unwrap_or(inside.len());
        &inside[..end]
    }

    /// How many modules enclose the file's content: 1 for `src/wire.rs`, 2 for `src/wire/batch.rs`.
    pub fn depth(&self) -> usize {
        let steps = self.path.split('/').count() - 1;
        if self.path.ends_with("/mod.rs") { steps - 1 } else { steps }
    }

    /// Whether the file holds tests only.
    pub fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.contains("/tests/") || self.path.starts_with("tests/")
    }

    /// The code alone: comments, literals and inline test modules are blanks, so that lines keep their numbers.
    pub fn code(&self) -> String {
        without_test_modules(&without_comments_and_literals(&self.text))
    }
}

/// Number of the line that holds the byte at `offset`, counted from 1.
pub fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Offsets at which `word` stands as a whole name in `code`.
pub fn words(code: &str, word: &str) -> Vec<usize> {
    let bytes = code.as_bytes();
    let part_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(|at| {
            let before = at.checked_sub(1).map(|before| bytes[before]);
            let after = bytes.get(at + word.len()).copied();
            !before.is_some_and(part_of_name) && !after.is_some_and(part_of_name)
        })
        .collect()
}

/// Names that follow `prefix` in `code`, with their offsets: `crate::a` gives `a`, `crate::{a, b::c}` gives `a` and `b`.
pub fn names_after(code: &str, prefix: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for at in words(code, prefix) {
        let rest = &code[at + prefix.len()..];
        let Some(rest) = rest.trim_start().strip_prefix("::").map(str::trim_start) else { continue };
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut expects_name = true;
            for (offset, character) in group.char_indices() {
                match character {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => expects_name = true,
                    _ if expects_name && !character.is_whitespace() => {
                        found.push((at, name_at_start(&group[offset..])));
                        expects_name = false;
                    }
                    _ => {}
                }
            }
        } else {
            found.push((at, name_at_start(rest)));
        }
    }
    found
}

fn name_at_start(text: &str) -> String {
    text.chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect()
}

fn without_comments_and_literals(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some(length) = raw_string(&out, rest) {
            length
        } else if first == '"' {
            quoted(rest, '"')
        } else if first == '\'' {
            character_literal(rest)
        } else {
            0
        };
        if skipped == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            out.extend(rest[..skipped].chars().map(|character| if character == '\n' { '\n' } else { ' ' }));
            rest = &rest[skipped..];
        }
    }
    out
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Length of a raw string at the start of `text`; `before` is the code so far, since `for"` is not one.
fn raw_string(before: &str, text: &str) -> Option<usize> {
    if before.ends_with(|character: char| character.is_alphanumeric() || character == '_') {
        return None;
    }
    let start = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = start.len() - start.trim_start_matches('#').len();
    let body = start[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end)? + end.len();
    Some(text.len() - body.len() + length)
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Length of a character literal at the start of `text`; 0 for a lifetime.
fn character_literal(text: &str) -> usize {
    let mut characters = text.chars().skip(1);
    match (characters.next(), characters.next()) {
        (Some('\\'), _) => quoted(text, '\''),
        (Some(inner), Some('\'')) => 2 + inner.len_utf8(),
        _ => 0,
    }
}

fn without_test_modules(code: &str) -> String {
    let mut out = code.to_string();
    for (at, _) in code.match_indices("mod tests {") {
        let open = at + "mod tests ".len();
        let mut depth = 0;
        let end = code[open..].char_indices().find_map(|(offset, character)| {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some(open + offset + 1)
        });
        let blank: String = code[at..end.unwrap_or(code.len())].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        // Blanks are one byte each, so a module with other characters in it gets shorter: only what follows it moves, by columns.
        out = out.replacen(&code[at..end.unwrap_or(code.len())], &blank, 1);
    }
    out
}
