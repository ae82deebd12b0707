//! What the given files are: their format, columns and time column, and which of them form one table.
//!
//! Files of one DBN schema form one table, named after the schema (`mbo`, `mbp_1`, `mbp_10`). Parquet files with equal columns form
//! one table, named after the file, or after what the names of its files have in common; so do text files with equal names of columns.
//! Only headers and footers are read here, but of text everything: it says its types nowhere.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Encoding;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use serde::{Deserialize, Serialize};

use super::cache::Cache;
use super::error::ServeError;
use super::import::arrow::ArrowReader;
use super::import::csv::Head;
use super::import::dbn::DbnReader;
use super::import::{self, arrow as arrow_file, csv as csv_file, dbn as dbn_file};
use super::progress::Progress;
use super::{sample, time_column};

/// Key of the Parquet metadata in which our own files name their time column.
pub(crate) const TIME_KEY: &str = "tickscope.time";
/// Name of the column that numbers the rows of a file; never shown, see [`super::table`].
pub(crate) const ROW_COLUMN: &str = "__row";

/// So many bytes of a file tell its format.
const START_BYTES: usize = 8;

/// A file as it was when the server started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InputFile {
    /// Absolute.
    pub(crate) path: PathBuf,
    /// Its size.
    pub(crate) bytes: u64,
    /// When it was changed last, in nanoseconds since 1970.
    pub(crate) modified_nanos: u128,
    /// The file beside it that a part of its columns comes from.
    #[serde(default)]
    pub(crate) beside: Option<Box<InputFile>>,
}

impl InputFile {
    /// The file as it is now, with the one beside it.
    ///
    /// # Errors
    /// As of [`input_file`].
    pub(crate) fn again(&self) -> Result<InputFile, ServeError> {
        let beside = self.beside.as_ref().map(|file| file.again().map(Box::new)).transpose()?;
        Ok(InputFile { beside, ..input_file(&self.path)? })
    }
}

/// Where the rows of a table come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Parquet files.
    Parquet,
    /// Arrow IPC files and streams.
    Arrow,
    /// Text with columns, plain or packed.
    Csv,
    /// Databento files of one schema, compressed or not.
    Dbn(dbn::Schema),
    /// The session that this program makes itself, in the layout of that schema.
    Sample(dbn::Schema),
}

/// A table to be served, before any row was read.
#[derive(Debug, Clone)]
pub(crate) struct TableSource {
    /// Lower case, digits and `_`; unique.
    pub(crate) name: String,
    /// Where its rows come from.
    pub(crate) format: Format,
    /// In the order given: rows with equal times keep it. Empty for [`Format::Sample`].
    pub(crate) files: Vec<InputFile>,
    /// Columns as they are served.
    pub(crate) schema: SchemaRef,
    /// Index of the column that orders it.
    pub(crate) time: Option<usize>,
    /// Why it has no order, what was assumed of its times, or that it is synthetic; shown in `tables()`.
    pub(crate) note: Option<String>,
    /// Which columns of its files it does not have, and why; shown there too.
    pub(crate) left_out: Option<String>,
}

impl TableSource {
    /// The session that is served when no file is given.
    pub(crate) fn sample() -> Vec<TableSource> {
        let table = |(schema, _): (dbn::Schema, u64)| TableSource {
            name: identifier(schema.as_str()),
            format: Format::Sample(schema),
            files: Vec::new(),
            schema: dbn_file::columns(schema),
            time: Some(0),
            note: Some(sample::NOTE.to_owned()),
            left_out: None,
        };
        sample::TABLES.map(table).to_vec()
    }

    /// Name of the column that orders it.
    pub(crate) fn designated(&self) -> Option<&str> {
        self.time.map(|index| self.schema.field(index).name().as_str())
    }

    /// Bytes to read, or to make, in all.
    pub(crate) fn bytes(&self) -> u64 {
        match self.format {
            Format::Sample(schema) => sample::bytes(schema),
            _ => self.files.iter().map(|file| file.bytes).sum(),
        }
    }
}

/// Looks at the files and says which tables they form, in the order in which they were given. The types of text are looked up in the
/// cache, else found and remembered there, which a `quiet` one says nothing of.
///
/// # Errors
/// Any file that cannot be read or served; a file given twice; no table at all with a time column, or a `time` that none has.
pub(crate) fn inspect(paths: &[PathBuf], time: Option<&str>, cache: &Cache, quiet: bool) -> Result<Vec<TableSource>, ServeError> {
    let mut groups: Vec<Group> = Vec::new();
    let mut seen = HashSet::new();
    for path in paths {
        let file = input_file(path)?;
        if !seen.insert(identity(&file.path)?) {
            return Err(ServeError::content(path, None, "it was given twice: its rows would be doubled"));
        }
        let group = inspect_file(file)?;
        match groups.iter_mut().find(|known| known.is_same(&group)) {
            Some(known) => known.join(group),
            None => groups.push(group),
        }
    }
    let mut names = HashSet::new();
    let mut tables = Vec::with_capacity(groups.len());
    let mut refusal = None;
    for mut group in groups {
        group.find_types(time, cache, quiet)?;
        let table = group.into_table(time, &mut names);
        if let (None, Some(problem)) = (table.time, &table.note) {
            refusal.get_or_insert_with(|| ServeError::NoTimeColumn { table: table.name.clone(), problem: problem.clone() });
        }
        tables.push(table);
    }
    match refusal {
        Some(refusal) if tables.iter().all(|table| table.time.is_none()) => Err(refusal),
        _ => Ok(tables),
    }
}

/// The columns, those of types without a null on the wire not nullable where the file's statistics count no null: writers say of
/// every column that it may be null, and one that may travels as INT.
fn without_needless_nulls(schema: &Schema, metadata: &ParquetMetaData) -> Schema {
    let leaves = metadata.file_metadata().schema_descr();
    let counted = |name: &str| {
        let leaf = (0..leaves.num_columns()).find(|leaf| leaves.column(*leaf).path().parts() == [name]);
        leaf.is_some_and(|leaf| {
            let nulls = |group: &RowGroupMetaData| group.column(leaf).statistics()?.null_count_opt();
            metadata.row_groups().iter().all(|group| nulls(group) == Some(0))
        })
    };
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::Boolean | DataType::Int8 | DataType::Int16 | DataType::UInt8 if field.is_nullable() && counted(field.name()) => {
            Arc::new(field.as_ref().clone().with_nullable(false))
        }
        _ => Arc::clone(field),
    });
    Schema::new(fields.collect::<Vec<_>>())
}

/// Files that may become one table.
struct Group {
    format: Format,
    files: Vec<InputFile>,
    schema: SchemaRef,
    /// The time column that the metadata of all its files names.
    declared: Option<String>,
    /// Text columns that all its files store by dictionary.
    symbols: HashSet<usize>,
    /// Columns that cannot be served, with their types.
    left_out: Vec<String>,
    /// The beginning of text; its types are found when its files are together.
    text: Option<Head>,
    /// What was assumed of it.
    assumed: Option<String>,
}

impl Group {
    fn is_same(&self, other: &Group) -> bool {
        let columns = |group: &Group| group.schema.fields().iter().map(|f| (f.name().clone(), f.data_type().clone())).collect::<Vec<_>>();
        let same_text = match (&self.text, &other.text) {
            (Some(one), Some(other)) => one.is_same(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        same_text && self.format == other.format && columns(self) == columns(other) && self.left_out == other.left_out
    }

    fn join(&mut self, other: Group) {
        if self.declared != other.declared {
            self.declared = None;
        }
        self.symbols.retain(|column| other.symbols.contains(column));
        self.files.extend(other.files);
        // A column is non-null only if it is so in every file.
        let fields = self.schema.fields().iter().zip(other.schema.fields());
        let merged: Vec<Field> = fields.map(|(a, b)| a.as_ref().clone().with_nullable(a.is_nullable() || b.is_nullable())).collect();
        self.schema = Arc::new(Schema::new(merged));
    }

    /// Finds the types of text, which are those of all its files.
    fn find_types(&mut self, time: Option<&str>, cache: &Cache, quiet: bool) -> Result<(), ServeError> {
        let (Some(_), Some(file)) = (&self.text, self.files.first()) else { return Ok(()) };
        let columns = match cache.types(&self.files, time) {
            Some(columns) => columns,
            None => {
                let bytes = self.files.iter().map(|file| file.bytes).sum();
                let progress = Progress::new(&identifier(&common_name(&self.files)), bytes, quiet);
                let columns = import::contained(&file.path, || csv_file::types(&self.files, time, &progress))?;
                cache.remember_types(&self.files, time, &columns)?;
                columns
            }
        };
        self.schema = csv_file::schema(&columns);
        self.assumed = csv_file::assumed(&columns);
        Ok(())
    }

    fn into_table(self, time: Option<&str>, names: &mut HashSet<String>) -> TableSource {
        let wanted = match self.format {
            Format::Dbn(schema) => schema.as_str().to_owned(),
            _ => common_name(&self.files),
        };
        let name = unique(&identifier(&wanted), names);
        let fields = self.schema.fields().iter().enumerate().map(|(index, field)| {
            let served = match field.data_type() {
                DataType::Dictionary(_, value) if is_text(value) => symbol_type(),
                _ if self.symbols.contains(&index) => symbol_type(),
                // A zone is how a moment is shown; the values are UTC already.
                DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some("UTC".into())),
                other => other.clone(),
            };
            Arc::new(field.as_ref().clone().with_data_type(served))
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let (time, note) = match time_column::choose(&schema, time, self.declared.as_deref()) {
            Ok(index) => (Some(index), self.assumed),
            Err(problem) => (None, Some(problem)),
        };
        let left_out = (!self.left_out.is_empty()).then(|| format!("left out, since the wire has no such type: {}", self.left_out.join(", ")));
        TableSource { name, format: self.format, files: self.files, schema, time, note, left_out }
    }
}

/// How symbols are kept in memory: 32-bit codes, so that no merge of dictionaries can overflow them.
pub(crate) fn symbol_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8))
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// What a file is whatever it is called: hard links are one file.
#[cfg(unix)]
fn identity(path: &Path) -> Result<(u64, u64), ServeError> {
    use std::os::unix::fs::MetadataExt as _;
    path.metadata().map(|metadata| (metadata.dev(), metadata.ino())).map_err(ServeError::file("read", path))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Result<PathBuf, ServeError> {
    Ok(path.to_owned())
}

/// A file as it is now.
///
/// # Errors
/// It cannot be read, or is no file.
pub(crate) fn input_file(path: &Path) -> Result<InputFile, ServeError> {
    let absolute = path.canonicalize().map_err(ServeError::file("read", path))?;
    let metadata = absolute.metadata().map_err(ServeError::file("read", path))?;
    if metadata.is_dir() {
        return Err(ServeError::content(path, None, "it is a directory: name the files in it"));
    }
    if !metadata.is_file() {
        return Err(ServeError::content(path, None, "it is no file but a pipe or a device: write what comes from it into a file"));
    }
    let modified = metadata.modified().map_err(ServeError::file("read", path))?;
    let modified_nanos = modified.duration_since(UNIX_EPOCH).map(|age| age.as_nanos()).unwrap_or_default();
    Ok(InputFile { path: absolute, bytes: metadata.len(), modified_nanos, beside: None })
}

fn inspect_file(input: InputFile) -> Result<Group, ServeError> {
    let mut start = Vec::with_capacity(START_BYTES);
    let file = File::open(&input.path).map_err(ServeError::file("read", &input.path))?;
    file.take(START_BYTES as u64).read_to_end(&mut start).map_err(ServeError::file("read", &input.path))?;
    let path = input.path.clone();
    import::contained(&path, || match start.as_slice() {
        [] => Err(ServeError::Empty { path: input.path }),
        [b'P', b'A', b'R', b'1', ..] => inspect_parquet(input),
        start if dbn_file::is_dbn(start) => match inspect_dbn(input.clone()) {
            // Text may be packed in the same way.
            Err(ServeError::UnknownFormat { .. }) => inspect_text(input),
            other => other,
        },
        start if arrow_file::is_arrow(start) => inspect_arrow(input),
        _ => inspect_text(input),
    })
}

fn inspect_text(mut input: InputFile) -> Result<Group, ServeError> {
    let head = Head::read(&input.path)?.ok_or_else(|| ServeError::UnknownFormat { path: input.path.clone() })?;
    if let Some(beside) = &head.beside {
        // What was imported is no longer valid when either file changes.
        input.beside = Some(Box::new(input_file(beside)?));
    }
    let declared = csv_file::declared_time(&head);
    let (schema, symbols) = (Arc::new(Schema::empty()), HashSet::new());
    Ok(Group { format: Format::Csv, files: vec![input], schema, declared, symbols, left_out: Vec::new(), text: Some(head), assumed: None })
}

fn inspect_arrow(input: InputFile) -> Result<Group, ServeError> {
    let reader = ArrowReader::open(&input.path)?;
    let mut fields: Vec<Field> = Vec::new();
    let mut left_out = Vec::new();
    for field in reader.schema().fields() {
        if reader.schema().fields().iter().filter(|other| other.name() == field.name()).count() > 1 {
            return Err(ServeError::content(&input.path, None, format!("two of its columns are named {}: rename one", field.name())));
        }
        match arrow_file::served(field) {
            Some(served) => fields.push(served),
            None => left_out.push(format!("{} ({})", field.name(), field.data_type())),
        }
    }
    if fields.is_empty() && left_out.is_empty() {
        return Err(ServeError::NoTable { path: input.path });
    }
    if fields.is_empty() {
        let problem = format!("none of its columns can be served: {}", left_out.join(", "));
        return Err(ServeError::content(&input.path, None, problem));
    }
    reserved(&fields, &input.path)?;
    let declared = reader.schema().metadata().get(TIME_KEY).cloned();
    let (schema, symbols) = (Arc::new(Schema::new(fields)), HashSet::new());
    Ok(Group { format: Format::Arrow, files: vec![input], schema, declared, symbols, left_out, text: None, assumed: None })
}

/// Refuses the name that this program needs itself.
fn reserved(fields: &[Field], path: &Path) -> Result<(), ServeError> {
    match fields.iter().any(|field| field.name() == ROW_COLUMN) {
        true => Err(ServeError::content(path, None, format!("a column is named {ROW_COLUMN}, which is reserved: rename it"))),
        false => Ok(()),
    }
}

fn inspect_dbn(input: InputFile) -> Result<Group, ServeError> {
    let reader = DbnReader::open(&input.path)?;
    let refused = || ServeError::MixedSchemas { path: input.path.clone() };
    let dbn_schema = reader.schema().ok_or_else(refused)?;
    let schema = dbn_file::columns(dbn_schema);
    let declared = schema.fields().first().map(|time| time.name().clone());
    Ok(Group {
        format: Format::Dbn(dbn_schema),
        files: vec![input],
        schema,
        declared,
        symbols: HashSet::new(),
        left_out: Vec::new(),
        text: None,
        assumed: None,
    })
}

fn inspect_parquet(input: InputFile) -> Result<Group, ServeError> {
    let file = File::open(&input.path).map_err(ServeError::file("read", &input.path))?;
    let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(|e| ServeError::content(&input.path, None, e))?;
    // Schema-level metadata (pandas indexes and the like) would make equal tables differ; field metadata says what a type means.
    let schema = Arc::new(without_needless_nulls(metadata.schema(), metadata.metadata()));
    if schema.fields().is_empty() {
        return Err(ServeError::NoTable { path: input.path });
    }
    reserved(&schema.fields().iter().map(|field| field.as_ref().clone()).collect::<Vec<_>>(), &input.path)?;
    let declared = declared_time(metadata.metadata(), &schema);
    let symbols = dictionary_columns(metadata.metadata(), &schema);
    Ok(Group { format: Format::Parquet, files: vec![input], schema, declared, symbols, left_out: Vec::new(), text: None, assumed: None })
}

/// The time column that a Parquet file names: in our own key, else as the first ascending sort column of every row group.
fn declared_time(metadata: &ParquetMetaData, schema: &Schema) -> Option<String> {
    let pairs = metadata.file_metadata().key_value_metadata();
    if let Some(own) = pairs.and_then(|pairs| pairs.iter().find(|pair| pair.key == TIME_KEY)).and_then(|pair| pair.value.clone()) {
        return Some(own);
    }
    let mut names = metadata.row_groups().iter().map(|group| {
        let first = group.sorting_columns()?.first().filter(|column| !column.descending)?;
        let leaf = usize::try_from(first.column_idx).ok().filter(|&leaf| leaf < group.num_columns())?;
        group.column(leaf).column_path().parts().first().cloned()
    });
    let name = names.next()??;
    (names.all(|other| other.as_ref() == Some(&name)) && schema.index_of(&name).is_ok()).then_some(name)
}

/// Text columns whose every page is dictionary encoded: their writer saw few distinct values, so they are symbols.
fn dictionary_columns(metadata: &ParquetMetaData, schema: &Schema) -> HashSet<usize> {
    let texts = (0..schema.fields().len()).filter(|&index| is_text(schema.field(index).data_type()));
    let by_dictionary = |index: &usize| {
        let name = schema.field(*index).name();
        !metadata.row_groups().is_empty()
            && metadata.row_groups().iter().all(|group| {
                group.columns().iter().filter(|chunk| chunk.column_path().parts().first() == Some(name)).all(|chunk| {
                    chunk
                        .page_encoding_stats_mask()
                        .is_some_and(|mask| mask.is_only(Encoding::RLE_DICTIONARY) || mask.is_only(Encoding::PLAIN_DICTIONARY))
                })
            })
    };
    texts.filter(by_dictionary).collect()
}

/// What the names of the files have in common, without extensions.
fn common_name(files: &[InputFile]) -> String {
    let stem = |file: &InputFile| {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.split('.').next().unwrap_or_default().to_owned()
    };
    let mut stems = files.iter().map(stem);
    let first = stems.next().unwrap_or_default();
    if files.len() < 2 {
        return first;
    }
    let mut common = first.as_str();
    for other in stems {
        let shared = common.char_indices().zip(other.chars()).find(|((_, a), b)| a != b).map(|((at, _), _)| at);
        let shared = shared.unwrap_or_else(|| common.char_indices().nth(other.chars().count()).map_or(common.len(), |(at, _)| at));
        common = common.get(..shared).unwrap_or_default();
    }
    let part_marks = |c: char| c.is_ascii_digit() || !c.is_alphanumeric();
    let trimmed = common.trim_end_matches(part_marks).trim_end_matches("-part").trim_end_matches("_part");
    if trimmed.chars().filter(|c| c.is_alphanumeric()).count() >= 2 {
        return trimmed.to_owned();
    }
    let folder = files.first().and_then(|file| file.path.parent()).and_then(Path::file_name);
    folder.map_or_else(|| "table".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// A name that needs no quotes in SQL: lower case, digits and `_`, not starting with a digit.
fn identifier(text: &str) -> String {
    let mut name: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    while name.contains("__") {
        name = name.replace("__", "_");
    }
    let name = name.trim_matches('_');
    match name.chars().next() {
        None => "table".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("t_{name}"),
        Some(_) => name.to_owned(),
    }
}

fn unique(wanted: &str, names: &mut HashSet<String>) -> String {
    let mut name = wanted.to_owned();
    let mut count = 1;
    while !names.insert(name.clone()) {
        count += 1;
        name = format!("{wanted}_{count}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> String {
        let file = |name: &&str| InputFile { path: PathBuf::from("/data/july").join(name), bytes: 0, modified_nanos: 0, beside: None };
        identifier(&common_name(&names.iter().map(file).collect::<Vec<_>>()))
    }

    #[test]
    fn a_table_is_named_after_what_its_files_share() {
        for (files, expected) in [
            (&["Trades-ES.2024.parquet"][..], "trades_es"),
            (&["es-0.parquet", "es-1.parquet", "es-2.parquet"], "es"),
            (&["book_part_1.parquet", "book_part_2.parquet"], "book"),
            (&["1.parquet", "2.parquet"], "july"),
            (&["2024-01-01.parquet"], "t_2024_01_01"),
            (&["es.parquet", "es2.parquet"], "es"),
            (&["écu.parquet"], "cu"),
            (&["…"], "table"),
        ] {
            assert_eq!(named(files), expected, "{files:?}");
        }
    }

    #[test]
    fn names_do_not_repeat() {
        let mut names = HashSet::new();
        assert_eq!(["a", "a", "a_2", "a"].map(|name| unique(name, &mut names)), ["a", "a_2", "a_2_2", "a_3"].map(str::to_owned));
    }
}
