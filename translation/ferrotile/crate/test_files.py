"""Tests and the example of a crate."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from struct import pack

from ferrotile.crate.host_text import HALVES
from ferrotile.crate.model import Recording, Recordings
from ferrotile.crate.modules import Kernel, RustModule
from ferrotile.crate.names import snake
from ferrotile.crate.writing import bracketed, imported, put

CrateText = Mapping[str, str | bytes]


def _package(crate: str) -> str:
    return crate.replace("-", "_")


def compile_tests(crate: str, modules: Sequence[RustModule]) -> CrateText:
    """`tests/kernels/compiles.rs`: the kernels through cuTile's own compiler, for which no GPU is needed."""
    lines = [
        "//! Each kernel through cuTile Rust's compiler to Tile IR: no GPU is needed.",
        "",
        "use cutile::compile_api::KernelCompiler;",
        "",
        "/// Compiling a kernel recurses deeply.",
        "fn with_stack(test: fn()) {",
        "    let thread = std::thread::Builder::new().stack_size(64 << 20);",
        "    thread.spawn(test).unwrap().join().unwrap();",
        "}",
    ]
    for module in modules:
        for kernel in module.kernels:
            lines += ["", *_compiles(crate, module, kernel)]
    return {"tests/kernels/compiles.rs": "\n".join(lines) + "\n"}


def _compiles(crate: str, module: RustModule, kernel: Kernel) -> list[str]:
    entry = kernel.planned.entry
    lines = ["#[test]", f"fn {module.name}_{snake(kernel.planned.parts.name)}() {{", "    with_stack(|| {"]
    lines.append(f"        use {_package(crate)}::{module.name}::kernels::__module_ast_self as module;")
    put(lines, 8, "let compiler = ", "KernelCompiler::new", ("module", '"kernels"', f'"{entry.name}"'))
    if entry.generics:
        bracketed(lines, 8, "let generics = vec!", [f'"{g}".into()' for g in entry.generics], ";")
        lines.append("        let compiler = compiler.generics(generics);")
    strides = [
        f'("{p.rust or p.name}", &[{", ".join(map(str, p.strides))}][..])'
        for p in entry.parameters
        if p.kind != "scalar"
    ]
    bracketed(lines, 8, "let strides = ", strides, ";")
    lines.append('        let compiler = compiler.strides(&strides).target("sm_90");')
    lines.append('        assert!(compiler.compile().unwrap().ir_text().contains("entry"));')
    return [*lines, "    });", "}"]


_COMMON = """\
//! Recorded arrays, and comparing with them.

use std::io::Write;
use std::sync::Arc;

use cutile::cuda_core::{Context, DeviceCopy};
use cutile::prelude::*;

/// Whether a GPU is there; where none is, says so past the test harness, which hides what passing tests print.
pub fn has_gpu(test: &str) -> bool {
    match Context::new(0) {
        Ok(_) => true,
        Err(_) => {
            let _ = writeln!(std::io::stderr(), "SKIPPED {test}: there is no NVIDIA GPU");
            false
        }
    }
}

/// Compiling a kernel recurses deeply.
pub fn with_stack(test: fn() -> Result<(), Error>) {
    let thread = std::thread::Builder::new().stack_size(64 << 20);
    let result = thread.spawn(test).unwrap().join().unwrap();
    result.unwrap();
}

/// The elements of an `.npy` file.
fn elements<T: Element>(file: &[u8]) -> Vec<T> {
    assert_eq!(&file[..6], b"\\x93NUMPY");
    let start = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
    let size = size_of::<T>();
    file[start..].chunks_exact(size).map(T::read).collect()
}

/// The array of an `.npy` file on the GPU.
pub fn tensor<T: Element>(file: &[u8], shape: &[usize]) -> Result<Tensor<T>, Error> {
    let host = Arc::new(elements::<T>(file));
    Ok(api::copy_host_vec_to_device(&host).reshape(shape).sync()?)
}

/// Compares a tensor with the array of an `.npy` file: bit by bit where `exact`, else up to rounding. `checked`: which
/// elements are compared; those that it leaves out the original does not determine.
pub fn compare<T: Element>(
    name: &str,
    tensor: &Tensor<T>,
    file: &[u8],
    checked: Option<&[u8]>,
    exact: bool,
) -> Result<(), Error> {
    let found: Vec<T> = tensor.dup().to_host_vec().sync()?;
    let expected = elements::<T>(file);
    let checked = checked.map(elements::<u8>);
    assert_eq!(found.len(), expected.len(), "{name}");
    let scale = expected.iter().map(|e| e.number().abs());
    let scale = scale.filter(|n| n.is_finite()).fold(0.0, f64::max);
    let mut worst = (0.0, 0);
    for (at, (f, e)) in found.iter().zip(&expected).enumerate() {
        if checked.as_ref().is_some_and(|which| which[at] == 0) {
            continue;
        }
        let (f, e) = (f.number(), e.number());
        let same = f == e || (f.is_nan() && e.is_nan());
        let apart = (f - e).abs() / e.abs().max(1e-2 * scale);
        // What is not a number on one side only is infinitely far.
        let apart = if apart.is_nan() { f64::INFINITY } else { apart };
        if !same && apart > worst.0 {
            worst = (apart, at);
        }
    }
    let (apart, at) = worst;
    let most = if exact { 0.0 } else { T::ROUNDING };
    let (f, e) = (found[at], expected[at]);
    assert!(apart <= most, "{name}[{at}] is {f:?}, not {e:?}");
    Ok(())
}

/// Element types of recorded arrays. `ROUNDING`: how far a result may be from the original's, relative.
pub trait Element: DType + DeviceCopy {
    const ROUNDING: f64;
    fn read(bytes: &[u8]) -> Self;
    fn number(self) -> f64;
}

macro_rules! element {
    ($($kind:ty, $rounding:expr, |$value:ident| $number:expr;)*) => {
        $(impl Element for $kind {
            const ROUNDING: f64 = $rounding;
            fn read(bytes: &[u8]) -> Self {
                <$kind>::from_le_bytes(bytes.try_into().unwrap())
            }
            fn number(self) -> f64 {
                let $value = self;
                $number
            }
        })*
    };
}

element! {
    f32, 1e-4, |x| x.into();
    f64, 1e-9, |x| x;
    cutile::half::f16, 1e-2, |x| x.into();
    cutile::half::bf16, 5e-2, |x| x.into();
    i8, 0.0, |x| x.into();
    i16, 0.0, |x| x.into();
    i32, 0.0, |x| x.into();
    i64, 0.0, |x| x as f64;
    u8, 0.0, |x| x.into();
    u16, 0.0, |x| x.into();
    u32, 0.0, |x| x.into();
    u64, 0.0, |x| x as f64;
}
"""

RECORDED = frozenset(("f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"))
"""Element types that tests read."""


def recorded_tests(
    crate: str, modules: Sequence[RustModule], recordings: Recordings, there: Collection[str] = ()
) -> CrateText:
    """`tests/kernels/`, one binary, and the arrays that its tests read. `there`: modules whose tests stay."""
    files: dict[str, str | bytes] = {}
    names = ["compiles"]
    for module in modules:
        tests: list[str] = []
        types: set[str] = set()
        called: set[str] = set()
        for kernel in module.kernels:
            recording = recordings.get((module.name, kernel.planned.entry.name))
            if recording is None or kernel.host is None:
                continue
            folder = f"data/{module.name}/{kernel.planned.entry.name}"
            for array in recording.arrays:
                files[f"tests/{folder}/{array.name}.npy"] = array.given
                if array.expected is not None:
                    files[f"tests/{folder}/{array.name}.after.npy"] = array.expected
                if array.checked is not None:
                    files[f"tests/{folder}/{array.name}.checked.npy"] = array.checked
            called.add(kernel.host.names.into)
            called |= {kernel.host.names.config} if kernel.planned.config else set()
            tests += ["", *_recorded(kernel, recording, folder, types)]
        if tests:
            halves = sorted(types & set(HALVES))
            shown = halves[0] if len(halves) == 1 else f"{{{', '.join(halves)}}}"
            head = [
                f"//! Kernels of `{module.name}` on recorded arrays, against what the original made of them.",
                "",
                "use crate::common;",
                *([f"use cutile::half::{shown};"] if halves else []),
                "\n".join(imported(f"{_package(crate)}::{module.name}", _by_case(called))),
            ]
            files[f"tests/kernels/{module.name}.rs"] = "\n".join([*_sorted_uses(head), *tests]) + "\n"
        if tests or module.name in there:
            names.append(module.name)
    if len(names) > 1:
        files["tests/kernels/common.rs"] = _COMMON
        names.append("common")
    about = "//! Each kernel through the compiler, and on a GPU on recorded arrays.\n\n"
    files["tests/kernels/main.rs"] = about + "".join(f"mod {name};\n" for name in sorted(names))
    return files


def _by_case(names: Collection[str]) -> list[str]:
    """Functions before types, as rustfmt has them."""
    return sorted(names, key=lambda name: (name[:1].isupper(), name))


def _sorted_uses(head: list[str]) -> list[str]:
    uses = sorted(line for line in head if line.startswith("use "))
    return [*(line for line in head if not line.startswith("use ")), *uses]


def _recorded(kernel: Kernel, recording: Recording, folder: str, types: set[str]) -> list[str]:
    assert kernel.host is not None
    planned, names = kernel.planned, kernel.host.names
    lines = ["#[test]", f"fn {names.plain}() {{", "    common::with_stack(|| {"]
    lines += [f'        if !common::has_gpu("{planned.entry.name}") {{', "            return Ok(());", "        }"]
    arrays = {a.name: a for a in recording.arrays}
    rust = {n: f"a{k}" for k, n in enumerate(arrays)}
    passed: list[str] = []
    scalars = {a.name: a for a in planned.scalars if a.extent is None}
    for argument in planned.signature.arguments:
        array = arrays.get(argument.name)
        if array is not None:
            if array.dtype in HALVES:
                types.add(array.dtype)
            shape = ", ".join(map(str, array.shape))
            mutable = "mut " if array.expected is not None else ""
            lines.append(f'        let file = include_bytes!("../{folder}/{array.name}.npy");')
            variable = rust[argument.name]
            lines.append(f"        let {mutable}{variable} = common::tensor::<{array.dtype}>(file, &[{shape}])?;")
            passed.append(f"&{mutable}{variable}")
        elif argument.name in scalars:
            passed.append(_literal(recording.scalars[argument.name], scalars[argument.name].dtype.name, types))
    if planned.config:
        passed.append(f"{names.config}::default()")
    if planned.signature.grid is None and "grid: (u32" in "\n".join(kernel.host.lines):
        passed.append(f"({', '.join(map(str, recording.grid))})")
    unsafe = f"pub unsafe fn {names.into}" in "\n".join(kernel.host.lines)
    if unsafe:
        lines.append("        // SAFETY: the original was run on these arrays, and stayed inside of them.")
        body: list[str] = []
        put(body, 12, "", names.into, passed, "?")
        lines += ["        unsafe {", *body, "        }"]
        lines[-2] += ";" if lines[-2].endswith("?") and not lines[-2].endswith("?;") else ""
    else:
        put(lines, 8, "", names.into, passed, "?;")
    exact = "true" if recording.exact else "false"
    for name, array in arrays.items():
        if array.expected is None:
            continue
        lines.append(f'        let after = include_bytes!("../{folder}/{name}.after.npy");')
        checked = "None"
        if array.checked is not None:
            lines.append(f'        let checked: &[u8] = include_bytes!("../{folder}/{name}.checked.npy");')
            checked = "Some(checked)"
        put(lines, 8, "", "common::compare", (f'"{name}"', f"&{rust[name]}", "after", checked, exact), "?;")
    return [*lines, "        Ok(())", "    });", "}"]


def _literal(value: int | float | bool, dtype: str, types: set[str]) -> str:
    if dtype == "bool":
        return "true" if value else "false"
    if dtype in HALVES:
        types.add(dtype)
        return f"{dtype}::from_f32({float(value)!r})"
    if dtype in ("f32", "f64"):
        number = float(value)
        if number != number:
            return f"{dtype}::NAN"
        if number in (float("inf"), float("-inf")):
            return f"{dtype}::{'NEG_' if number < 0 else ''}INFINITY"
        return _shortest(number) if dtype == "f32" else repr(number)
    return str(int(value))


def _shortest(number: float) -> str:
    """The shortest literal of an f32."""
    digits = (f"{number:.{n}g}" for n in range(1, 10))
    text = next((t for t in digits if pack("<f", float(t)) == pack("<f", number)), repr(number))
    return text if any(c in text for c in ".e") else f"{text}.0"
