//! `assemble`: Tile IR bytecode to a cubin, by the `tileiras` of the environment.

use crate::rpc::{self, Failure, COMPILE_FAILED, INTERNAL};
use base64::{engine::general_purpose::STANDARD, Engine};
use serde_json::{json, Value};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// `CUTILE_TILEIRAS_PATH`, else `bin/tileiras` of the toolkit; both names are cuTile Rust's own.
fn tileiras() -> Result<PathBuf, Failure> {
    let named = std::env::var_os("CUTILE_TILEIRAS_PATH").map(PathBuf::from);
    let of_toolkit = std::env::var_os("CUDA_TOOLKIT_PATH")
        .map(|toolkit| Path::new(&toolkit).join("bin").join("tileiras"));
    named.or(of_toolkit).ok_or_else(|| {
        Failure::new(
            INTERNAL,
            "neither CUTILE_TILEIRAS_PATH nor CUDA_TOOLKIT_PATH is set",
        )
    })
}

/// A directory that is removed when it goes out of scope.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> std::io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!(
            "ferrotile-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path)?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn io_failure(what: &str, error: &std::io::Error) -> Failure {
    Failure::new(INTERNAL, format!("{what}: {error}"))
}

/// The first `loc("file":line:column)` of the assembler's messages.
fn place(text: &str) -> Option<(usize, usize)> {
    let rest = &text[text.find("loc(\"")? + 5..];
    let rest = &rest[rest.find("\":")? + 2..];
    let (line, column) = rest[..rest.find(')')?].split_once(':')?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

/// `{bytecode: base64, target: "sm_90"}` to `{cubin: base64, ms}`.
pub fn assemble(params: &Value) -> Result<Value, Failure> {
    let started = Instant::now();
    let target = rpc::text(params, "target")?;
    let bytecode = STANDARD
        .decode(rpc::text(params, "bytecode")?)
        .map_err(|error| Failure::invalid(format!("`bytecode` is not base64: {error}")))?;
    let scratch = Scratch::new().map_err(|error| io_failure("no scratch directory", &error))?;
    let (input, output) = (scratch.0.join("kernel.bc"), scratch.0.join("kernel.cubin"));
    std::fs::write(&input, bytecode).map_err(|error| io_failure("bytecode", &error))?;
    let program = tileiras()?;
    let run = Command::new(&program)
        .args(["--gpu-name", target, "--opt-level", "3", "-o"])
        .arg(&output)
        .arg(&input)
        .output()
        .map_err(|error| io_failure(&program.to_string_lossy(), &error))?;
    if !run.status.success() {
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&run.stdout),
            String::from_utf8_lossy(&run.stderr)
        );
        let failure = Failure::new(
            COMPILE_FAILED,
            format!("tileiras ({}): {}", run.status, said.trim()),
        );
        return Err(match place(&said) {
            Some((line, column)) => failure.at(line, column),
            None => failure,
        });
    }
    let cubin = std::fs::read(&output).map_err(|error| io_failure("cubin", &error))?;
    Ok(json!({"cubin": STANDARD.encode(cubin), "ms": started.elapsed().as_secs_f64() * 1e3}))
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn the_first_location_is_found() {
        assert_eq!(place("error: loc(\"kernel.rs\":11:4): bad"), Some((11, 4)));
        assert_eq!(place("no location"), None);
    }
}
