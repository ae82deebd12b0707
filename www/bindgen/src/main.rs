//! `tickscope-bindgen MODULE.wasm OUT [PAGE_FILE…]`: bindings for a browser, and the page's own files beside them.
//!
//! `OUT` gets `NAME.js` and `NAME_bg.wasm` (the generator's `--target web` form, NAME being the module's) and a copy of every
//! `PAGE_FILE`. What was there before is removed, so a file that left the sources leaves the page. The new directory is laid out
//! beside `OUT` and put in its place at the end: a build that stops half-way leaves the old page whole.

use std::path::{Path, PathBuf};
use std::{env, error::Error, fs, process::ExitCode};

fn main() -> ExitCode {
    match lay_out() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("tickscope-bindgen: {why}");
            ExitCode::FAILURE
        }
    }
}

fn lay_out() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let (Some(module), Some(out)) = (arguments.next(), arguments.next()) else {
        return Err("wants MODULE.wasm OUT [PAGE_FILE…]".into());
    };
    let fresh = out.with_extension("new");
    remove(&fresh)?;
    fs::create_dir_all(&fresh).map_err(at(&fresh))?;
    wasm_bindgen_cli_support::Bindgen::new().input_path(&module).web(true)?.typescript(false).generate(&fresh)?;
    for file in arguments {
        let name = file.file_name().ok_or_else(|| format!("{} is not a file", file.display()))?;
        fs::copy(&file, fresh.join(name)).map_err(at(&file))?;
    }
    remove(&out)?;
    fs::rename(&fresh, &out).map_err(at(&out))?;
    Ok(())
}

fn remove(directory: &Path) -> Result<(), Box<dyn Error>> {
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(at(directory))?;
    }
    Ok(())
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> String {
    move |why| format!("{}: {why}", path.display())
}
