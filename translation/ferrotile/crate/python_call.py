"""`python/src/call.rs`: one call from Python, its stream, device and launch."""

from __future__ import annotations

CALL = """\
//! Calls from Python: streams, the device, the launch, errors.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use cutile::cuda_core::{sys, Context, Stream};
use cutile::error::KernelLaunchError;
use cutile::prelude::*;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::tensor::{Array, Element, Given, Place};

/// One call, before anything of CUDA is touched.
pub(crate) struct Call {
    kernel: &'static str,
    stream: Option<usize>,
    places: Vec<Place>,
}

impl Call {
    /// `stream`: a handle, or a stream of torch, cupy or cuda.core; without one the call waits for
    /// the kernel.
    pub(crate) fn new(kernel: &'static str, stream: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Self {
            kernel,
            stream: stream.map(handle).transpose()?,
            places: Vec::new(),
        })
    }

    /// A tensor that is somewhere on a GPU.
    pub(crate) fn given(&self, name: &'static str, tensor: &Bound<'_, PyAny>) -> PyResult<Given> {
        Given::new(self.kernel, name, tensor, self.stream.unwrap_or_default())
    }

    /// A tensor that the kernel reads.
    pub(crate) fn read<T: Element>(
        &mut self,
        name: &'static str,
        tensor: &Bound<'_, PyAny>,
    ) -> PyResult<Array<T>> {
        self.array(name, tensor, false)
    }

    /// A tensor that the kernel writes.
    pub(crate) fn write<T: Element>(
        &mut self,
        name: &'static str,
        tensor: &Bound<'_, PyAny>,
    ) -> PyResult<Array<T>> {
        self.array(name, tensor, true)
    }

    fn array<T: Element>(
        &mut self,
        name: &'static str,
        tensor: &Bound<'_, PyAny>,
        written: bool,
    ) -> PyResult<Array<T>> {
        let array = self.given(name, tensor)?.array(written)?;
        self.places.push(array.place.clone());
        Ok(array)
    }

    /// The GPU that all tensors are on. No two share memory that the kernel writes.
    pub(crate) fn gpu(self) -> PyResult<Gpu> {
        apart(self.kernel, &self.places).map_err(PyValueError::new_err)?;
        let device = self.places.first().map_or(0, |place| place.device);
        let before = Current::get();
        let context = Context::new(device).map_err(failed)?;
        let stream = match self.stream {
            // SAFETY: the caller's own stream, which this call does not outlive.
            Some(handle) => unsafe { Stream::borrow_raw(handle as *mut c_void, &context) },
            None => context.default_stream(),
        };
        Ok(Gpu {
            context,
            stream,
            waits: self.stream.is_none(),
            _before: before,
        })
    }
}

/// The handle of a stream: a number, `__cuda_stream__()` (cuda.core), `cuda_stream` (torch), `ptr`
/// (cupy).
fn handle(stream: &Bound<'_, PyAny>) -> PyResult<usize> {
    if let Ok(number) = stream.extract() {
        return Ok(number);
    }
    if let Ok(protocol) = stream.getattr("__cuda_stream__") {
        let (_, number): (usize, usize) = protocol.call0()?.extract()?;
        return Ok(number);
    }
    for attribute in ["cuda_stream", "ptr"] {
        if let Ok(number) = stream.getattr(attribute) {
            return number.extract();
        }
    }
    let kind = stream.get_type().name()?;
    let message = format!("`stream` must be a CUDA stream or its handle, not `{kind}`");
    Err(PyTypeError::new_err(message))
}

/// Checks that tensors are on one GPU, and that nothing shares memory with what is written.
fn apart(kernel: &str, places: &[Place]) -> Result<(), String> {
    for (at, one) in places.iter().enumerate() {
        for other in &places[..at] {
            let (a, b) = (other.name, one.name);
            let (on, off) = (other.device, one.device);
            if on != off {
                return Err(format!(
                    "{kernel}: `{a}` is on GPU {on}, but `{b}` on GPU {off}"
                ));
            }
            let (x, y) = (&one.memory, &other.memory);
            let apart = x.end <= y.start || y.end <= x.start;
            if (one.written || other.written) && !apart {
                return Err(format!(
                    "{kernel}: `{a}` and `{b}` share memory that the kernel writes; pass a copy"
                ));
            }
        }
    }
    Ok(())
}

/// Where a call launches.
pub(crate) struct Gpu {
    context: Arc<Context>,
    stream: Arc<Stream>,
    waits: bool,
    _before: Current,
}

impl Gpu {
    pub(crate) fn tensor<T: Element>(&self, array: Array<T>) -> Tensor<T> {
        // SAFETY: within the call `apart` has seen to it. Of other work, the producer ordered what was
        // before this stream; what comes after, the caller orders after it, as after any launch.
        unsafe { array.tensor(&self.context) }
    }

    /// Launches what was checked. It is not waited for on a stream of the caller's.
    pub(crate) fn launch<O>(&self, py: Python<'_>, op: Result<O, Error>) -> PyResult<()>
    where
        O: DeviceOp<Output = ()>,
    {
        let op = op.map_err(refused)?;
        let (stream, waits) = (&self.stream, self.waits);
        let done = py.detach(move || {
            if waits {
                return op.sync_on(stream);
            }
            // SAFETY: as for a launch from Python: tensors are the caller's, who uses or frees them in
            // the order of the stream. Kernels stay loaded, and memory that the operation makes for
            // itself is freed in that order too.
            unsafe { op.async_on(stream) }
        });
        done.map_err(failed)
    }
}

/// The CUDA context of a thread, which is put back: libraries take the current device from it.
struct Current(sys::CUcontext);

impl Current {
    fn get() -> Self {
        let mut context = null_mut();
        // SAFETY: writes one pointer. Where it fails, there is no context to put back.
        unsafe { sys::cuCtxGetCurrent(&mut context) };
        Self(context)
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: it was this thread's context when the call began.
            unsafe { sys::cuCtxSetCurrent(self.0) };
        }
    }
}

/// An argument does not fit the kernel.
fn refused(error: Error) -> PyErr {
    match error {
        Error::KernelLaunch(KernelLaunchError(message)) => PyValueError::new_err(message),
        other => failed(other),
    }
}

/// CUDA or the compiler failed.
fn failed(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &'static str, device: usize, start: u64, written: bool) -> Place {
        Place {
            name,
            device,
            memory: start..start + 64,
            written,
        }
    }

    #[test]
    fn tensors_of_one_call() {
        let [x, y] = [place("x", 0, 64, false), place("y", 0, 128, true)];
        assert_eq!(apart("k", &[x.clone(), y.clone()]), Ok(()));
        assert_eq!(apart("k", &[x.clone(), x.clone()]), Ok(()));
        let shared = apart("k", &[x.clone(), place("z", 0, 96, true)]).unwrap_err();
        assert!(shared.contains("`x` and `z` share memory"));
        let far = apart("k", &[x, place("z", 1, 256, true)]).unwrap_err();
        assert!(far.contains("`x` is on GPU 0, but `z` on GPU 1"));
    }
}
"""
