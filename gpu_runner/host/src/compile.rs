//! `compile`: one entry of one kernel text to Tile IR bytecode.

use crate::rpc::{self, Failure, COMPILE_FAILED, INTERNAL};
use crate::{checks, source};
use base64::{engine::general_purpose::STANDARD, Engine};
use cutile::compile_api::KernelCompiler;
use cutile::cutile_compiler::ast::Module;
use cutile::cutile_compiler::error::JITError;
use cutile::cutile_compiler::specialization::{DivHint, SpecializationBits};
use cutile_ir::bytecode::BytecodeVersion;
use serde_json::{json, Value};
use std::time::Instant;

/// The JIT recurses over expressions, and a panic must not end the process: each compile has its own thread.
const STACK_BYTES: usize = 64 << 20;
/// The largest divisor that the launcher itself would claim.
const MAX_DIVISOR: i32 = 16;

/// The core modules register themselves at link time, and only if something refers to them.
const LINKED: [fn() -> Module; 2] = [
    cutile::core::__module_ast_self,
    cutile::tileir::__module_ast_self,
];

struct Request {
    text: String,
    module: Option<String>,
    entry: String,
    generics: Vec<String>,
    strides: Vec<(String, Vec<i32>)>,
    specialization: Vec<(String, SpecializationBits)>,
    target: String,
    version: BytecodeVersion,
}

/// The versions that `compile` accepts, oldest first.
pub fn bytecode_versions() -> Vec<String> {
    BytecodeVersion::SUPPORTED
        .iter()
        .map(short_version)
        .collect()
}

fn short_version(version: &BytecodeVersion) -> String {
    format!("{}.{}", version.major, version.minor)
}

fn version_named(name: &str) -> Result<BytecodeVersion, Failure> {
    BytecodeVersion::SUPPORTED
        .into_iter()
        .find(|version| short_version(version) == name)
        .ok_or_else(|| Failure::invalid(format!("bytecode version `{name}` cannot be written")))
}

fn hint(divisor: i32) -> DivHint {
    DivHint {
        divisor,
        max: MAX_DIVISOR,
    }
}

fn specialization(value: &Value, strides: &[i32]) -> Result<SpecializationBits, Failure> {
    let shape_div = rpc::integers(&value["shape_div"], "shape_div")?;
    let stride_div = rpc::integers(&value["stride_div"], "stride_div")?;
    let pointer = value["ptr_div"].as_i64().unwrap_or(1);
    let pointer = i32::try_from(pointer).map_err(|_| Failure::invalid("`ptr_div` is too large"))?;
    Ok(SpecializationBits {
        shape_div: shape_div.into_iter().map(hint).collect(),
        stride_div: stride_div.into_iter().map(hint).collect(),
        stride_one: strides.iter().map(|stride| *stride == 1).collect(),
        base_ptr_div: hint(pointer),
        elements_disjoint: true,
    })
}

impl Request {
    fn read(params: &Value) -> Result<Self, Failure> {
        let generics = params["generics"].as_array().cloned().unwrap_or_default();
        let generics = generics
            .iter()
            .map(|item| item.as_str().map(str::to_string))
            .collect::<Option<Vec<String>>>()
            .ok_or_else(|| Failure::invalid("`generics` must be a list of strings"))?;
        let mut strides = Vec::new();
        for (name, value) in params["strides"].as_object().into_iter().flatten() {
            strides.push((name.clone(), rpc::integers(value, "strides")?));
        }
        let mut specializations = Vec::new();
        for (name, value) in params["specialization"].as_object().into_iter().flatten() {
            let of_array = strides.iter().find(|(array, _)| array == name);
            let of_array = of_array.map_or(&[][..], |(_, strides)| strides);
            specializations.push((name.clone(), specialization(value, of_array)?));
        }
        Ok(Request {
            text: rpc::text(params, "text")?.to_string(),
            module: params["module"].as_str().map(str::to_string),
            entry: rpc::text(params, "entry")?.to_string(),
            generics,
            strides,
            specialization: specializations,
            target: rpc::text(params, "target")?.to_string(),
            version: version_named(params["bytecode_version"].as_str().unwrap_or("13.3"))?,
        })
    }
}

fn jit_failure(error: &JITError) -> Failure {
    match error {
        JITError::Located(message, place) if place.file == source::FILE && place.line > 0 => {
            Failure::new(COMPILE_FAILED, message).at(place.line, place.column)
        }
        other => Failure::new(COMPILE_FAILED, other.to_string()),
    }
}

/// Runs on the compile thread: `syn` trees cannot cross threads.
fn run(request: &Request) -> Result<Value, Failure> {
    let started = Instant::now();
    let module = source::parse(&request.text, request.module.as_deref())?;
    let names = source::parameter_names(&module, &request.entry);
    let ast = source::to_ast(module);
    let name = ast.name().to_string();
    let strides: Vec<(&str, &[i32])> = request
        .strides
        .iter()
        .map(|(name, strides)| (name.as_str(), strides.as_slice()))
        .collect();
    let specialization: Vec<(&str, SpecializationBits)> = request
        .specialization
        .iter()
        .map(|(name, bits)| (name.as_str(), bits.clone()))
        .collect();
    let artifacts = KernelCompiler::new(move || ast.clone(), &name, &request.entry)
        .generics(request.generics.clone())
        .strides(&strides)
        .spec_args(&specialization)
        .target(&request.target)
        .bytecode_version(request.version)
        .compile()
        .map_err(|error| jit_failure(&error))?;
    let bytecode = artifacts.bytecode().map_err(|error| jit_failure(&error))?;
    let counts = artifacts.check_counts();
    let launch_checks: Vec<Value> = artifacts
        .launch_checks()
        .iter()
        .map(|check| checks::to_json(check, &names))
        .collect();
    Ok(json!({
        "bytecode": STANDARD.encode(bytecode),
        "bytecode_version": short_version(&request.version),
        "check_counts": {"discharged": counts.discharged, "hoisted": counts.hoisted, "in_place": counts.in_place},
        "launch_checks": launch_checks,
        "ms": started.elapsed().as_secs_f64() * 1e3,
    }))
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_string())
}

/// Compiles on a fresh thread; a panic of the JIT becomes a failure without a place.
pub fn compile(params: &Value) -> Result<Value, Failure> {
    std::hint::black_box(LINKED);
    let request = Request::read(params)?;
    let thread = std::thread::Builder::new()
        .name("compile".to_string())
        .stack_size(STACK_BYTES)
        .spawn(move || run(&request))
        .map_err(|error| Failure::new(INTERNAL, format!("no compile thread: {error}")))?;
    thread.join().unwrap_or_else(|payload| {
        let message = format!("the cuTile compiler panicked: {}", panic_text(&*payload));
        Err(Failure::new(COMPILE_FAILED, message))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADD: &str = "#[cutile::module]
mod k {
    use cutile::core::*;
    #[cutile::entry()]
    fn add<const N: i32>(z: &mut Tensor<f32, { [N] }>, x: &Tensor<f32, { [-1] }>) {
        let t = x.partition(shape![N]).load([program_id(0)]);
        z.store(t + t);
    }
}";

    fn request(text: &str) -> Value {
        json!({"text": text, "entry": "add", "generics": ["128"], "strides": {"x": [1], "z": [1]}, "target": "sm_90"})
    }

    #[test]
    fn a_kernel_compiles() {
        let result = compile(&request(ADD)).unwrap();
        let bytes = STANDARD
            .decode(result["bytecode"].as_str().unwrap())
            .unwrap();
        assert_eq!(&bytes[1..7], b"TileIR");
        assert_eq!(result["launch_checks"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn an_error_has_a_place() {
        let failure = compile(&request(&ADD.replace("t + t", "t + q"))).unwrap_err();
        assert_eq!(failure.place.unwrap().0, 7);
    }

    #[test]
    fn a_panic_is_a_failure() {
        let mut params = request(ADD);
        params["strides"] = json!({});
        assert_eq!(compile(&params).unwrap_err().code, COMPILE_FAILED);
    }
}
