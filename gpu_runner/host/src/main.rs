//! Long-lived compiler process: cuTile Rust kernel text in, Tile IR bytecode and cubins out.
//!
//! One JSON-RPC 2.0 object a line on stdin, one response a line on stdout, in order. Nothing else is written to
//! stdout. The process ends at the end of its input.

mod assemble;
mod checks;
mod compile;
mod entries;
mod policy;
mod rpc;
mod source;

use serde_json::{json, Value};
use std::io::{BufRead, Write};

/// The JIT clones syntax trees and drops them: a third of its time is the allocator's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn version() -> Value {
    json!({"host": env!("CARGO_PKG_VERSION"), "cutile": "0.5.0", "bytecode_versions": compile::bytecode_versions()})
}

fn dispatch(method: &str, params: &Value) -> Result<Value, rpc::Failure> {
    match method {
        "version" => Ok(version()),
        "compile" => compile::compile(params),
        "entries" => entries::entries(params),
        "assemble" => assemble::assemble(params),
        other => Err(rpc::Failure::method_not_found(other)),
    }
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        if let Some(reply) = rpc::answer(&line, dispatch) {
            writeln!(out, "{reply}")?;
            out.flush()?;
        }
    }
    Ok(())
}
