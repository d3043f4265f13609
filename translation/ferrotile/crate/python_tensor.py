"""`python/src/tensor.rs`: tensors of Python, taken in by DLPack."""

from __future__ import annotations

TENSOR = """\
//! Tensors of Python as tensors of cutile, by DLPack: checked, and never copied.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use cutile::cuda_core::{f8e4m3fn, f8e5m2, f8e8m0fnu, sys, Context, DeviceAllocation};
use cutile::half::{bf16, f16};
use cutile::prelude::*;
use dlpark::ffi::{DLDataTypeCode, DLDeviceType, DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
use dlpark::python::consumer::{dlpack_device, from_dlpack, ImportedDlpack};
use dlpark::{AllocationDeleter, DlpackFlags};
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Element types of tensors: how DLPack and Python call them.
pub(crate) trait Element: DType {
    const CODE: DLDataTypeCode;
    const NAME: &'static str;
}

macro_rules! element {
    ($($kind:ty, $code:ident, $name:literal;)*) => {
        $(impl Element for $kind {
            const CODE: DLDataTypeCode = DLDataTypeCode::$code;
            const NAME: &'static str = $name;
        })*
    };
}

element! {
    bool, BOOL, "bool";
    i8, INT, "int8";
    i16, INT, "int16";
    i32, INT, "int32";
    i64, INT, "int64";
    u8, UINT, "uint8";
    u16, UINT, "uint16";
    u32, UINT, "uint32";
    u64, UINT, "uint64";
    f16, FLOAT, "float16";
    bf16, BFLOAT, "bfloat16";
    f32, FLOAT, "float32";
    f64, FLOAT, "float64";
    f8e4m3fn, FLOAT8_E4M3FN, "float8_e4m3fn";
    f8e5m2, FLOAT8_E5M2, "float8_e5m2";
    f8e8m0fnu, FLOAT8_E8M0FNU, "float8_e8m0fnu";
}

/// A tensor on a GPU that Python gave, by name; its memory stays while this lives.
pub(crate) struct Given {
    kernel: &'static str,
    name: &'static str,
    device: usize,
    imported: ImportedDlpack,
}

impl Given {
    /// Asks `tensor` for its memory. Its owner orders what it still does there before `stream`.
    pub(crate) fn new(
        kernel: &'static str,
        name: &'static str,
        tensor: &Bound<'_, PyAny>,
        stream: usize,
    ) -> PyResult<Self> {
        let device = match dlpack_device(tensor.as_borrowed()) {
            Err(error) if error.is_instance_of::<PyAttributeError>(tensor.py()) => {
                let kind = tensor.get_type().name()?;
                let message = format!("{kernel}: `{name}` must be a tensor, not `{kind}`");
                return Err(PyTypeError::new_err(message));
            }
            found => found?,
        };
        let place = match device.device_type {
            DLDeviceType::CUDA | DLDeviceType::CUDAMANAGED => {
                let capsule = exported(tensor, stream)?;
                return Ok(Self {
                    kernel,
                    name,
                    device: device.device_id as usize,
                    imported: from_dlpack(capsule.as_borrowed(), None, None)?,
                });
            }
            DLDeviceType::CPU | DLDeviceType::CUDAHOST => "in the memory of the CPU",
            _ => "on a device of another kind",
        };
        let message = format!("{kernel}: `{name}` is {place}, not on an NVIDIA GPU");
        Err(PyValueError::new_err(message))
    }

    /// Whether its elements are of the type `T`.
    pub(crate) fn is<T: Element>(&self) -> PyResult<bool> {
        let dtype = self.imported.validate().map_err(invalid)?.dtype();
        let found = (dtype.code, usize::from(dtype.bits), dtype.lanes);
        Ok(found == (T::CODE, 8 * size_of::<T>(), 1))
    }

    /// The error for elements of another type than `wanted`.
    pub(crate) fn mistyped(&self, wanted: &str) -> PyErr {
        let (kernel, name) = (self.kernel, self.name);
        let found = match self.imported.validate() {
            Ok(view) => dtype_name(view.dtype().code, view.dtype().bits),
            Err(error) => error.to_string(),
        };
        PyTypeError::new_err(format!("{kernel}: `{name}` is {found}, not {wanted}"))
    }

    /// Checks all that must hold of it alone.
    pub(crate) fn array<T: Element>(self, written: bool) -> PyResult<Array<T>> {
        if !self.is::<T>()? {
            return Err(self.mistyped(T::NAME));
        }
        let (kernel, name) = (self.kernel, self.name);
        let wrong = |what: &str| PyValueError::new_err(format!("{kernel}: `{name}` {what}"));
        let flags = self.imported.flags();
        if written && flags.contains(DlpackFlags::READ_ONLY) {
            return Err(wrong("is read-only, but the kernel writes it"));
        }
        if written && flags.contains(DlpackFlags::IS_COPIED) {
            return Err(wrong("came as a copy, but the kernel writes it"));
        }
        let view = self.imported.validate().map_err(invalid)?;
        let strides = view.strides_or_compact().map_err(invalid)?;
        let (Some(shape), Some(mut strides)) = (small(view.shape()), small(&strides)) else {
            return Err(wrong(
                "has an extent or a stride that is not from 0 to 2^31",
            ));
        };
        if shape.contains(&0) {
            return Err(wrong(&format!("has no elements: its shape is {shape:?}")));
        }
        pack_ones(&shape, &mut strides);
        let steps = shape.iter().zip(&strides);
        let reach = steps.map(|(&n, &s)| (n as u128 - 1) * s as u128);
        let bytes = (reach.sum::<u128>() + 1) * size_of::<T>() as u128;
        let start = u128::from(view.byte_offset()) + view.data_ptr() as u128;
        let (Ok(from), Ok(to)) = (u64::try_from(start), u64::try_from(start + bytes)) else {
            return Err(wrong("is larger than memory"));
        };
        if from == 0 || from % size_of::<T>() as u64 != 0 {
            let message = format!("is at the address {from:#x}, not aligned to its elements");
            return Err(wrong(&message));
        }
        let place = Place {
            name,
            device: self.device,
            memory: from..to,
            written,
        };
        let owner = self.imported.into_deleter();
        Ok(Array {
            place,
            owner,
            shape,
            strides,
            element: PhantomData,
        })
    }
}

/// The capsule of a tensor: versioned where its owner knows that.
fn exported<'py>(tensor: &Bound<'py, PyAny>, stream: usize) -> PyResult<Bound<'py, PyAny>> {
    let arguments = PyDict::new(tensor.py());
    // In DLPack the legacy default stream of CUDA is 1.
    arguments.set_item("stream", stream.max(1))?;
    arguments.set_item("max_version", (DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION))?;
    match tensor.call_method("__dlpack__", (), Some(&arguments)) {
        Err(error) if error.is_instance_of::<PyTypeError>(tensor.py()) => {
            arguments.del_item("max_version")?;
            tensor.call_method("__dlpack__", (), Some(&arguments))
        }
        found => found,
    }
}

/// Extents or strides in 32 bits.
fn small(values: &[i64]) -> Option<Vec<i32>> {
    let natural = |&n: &i64| i32::try_from(n).ok().filter(|&n| n >= 0);
    values.iter().map(natural).collect()
}

/// Along an axis of one element nothing steps. DLPack leaves its stride open, checks of launches
/// do not: there it is what it would be without gaps.
fn pack_ones(shape: &[i32], strides: &mut [i32]) {
    let mut packed = 1_i32;
    for (extent, stride) in shape.iter().zip(strides).rev() {
        if *extent == 1 {
            *stride = packed;
        }
        packed = stride.saturating_mul(*extent);
    }
}

fn invalid(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// What Python calls an element type.
fn dtype_name(code: DLDataTypeCode, bits: u8) -> String {
    let family = match code {
        DLDataTypeCode::BOOL => return "bool".into(),
        DLDataTypeCode::INT => "int",
        DLDataTypeCode::UINT => "uint",
        DLDataTypeCode::FLOAT => "float",
        DLDataTypeCode::BFLOAT => "bfloat",
        DLDataTypeCode::COMPLEX => "complex",
        DLDataTypeCode::FLOAT8_E4M3FN => return f8e4m3fn::NAME.into(),
        DLDataTypeCode::FLOAT8_E5M2 => return f8e5m2::NAME.into(),
        DLDataTypeCode(other) => return format!("of DLPack's type {other} with {bits} bits"),
    };
    format!("{family}{bits}")
}

/// Where a tensor is, for checks among several.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) device: usize,
    pub(crate) memory: Range<u64>,
    pub(crate) written: bool,
}

/// A checked tensor of Python's.
pub(crate) struct Array<T> {
    pub(crate) place: Place,
    owner: AllocationDeleter,
    shape: Vec<i32>,
    strides: Vec<i32>,
    element: PhantomData<T>,
}

impl<T: Element> Array<T> {
    /// The same memory as a tensor of cutile's.
    ///
    /// # Safety
    ///
    /// Until the work of the stream is done that this is used on, what a kernel writes here nothing
    /// else accesses, and what it reads nothing else writes.
    pub(crate) unsafe fn tensor(self, context: &Arc<Context>) -> Tensor<T> {
        let owner = Owner {
            memory: self.place.memory,
            context: context.clone(),
            _deleter: self.owner,
        };
        // SAFETY: the caller promises what is asked for; elements of these types have no invalid bits,
        // but for `bool`, which the producers of DLPack keep 0 or 1.
        unsafe { Tensor::from_foreign(Arc::new(owner), self.shape, self.strides) }
    }
}

/// What keeps the memory of a tensor: DLPack's deleter is called once, when this is dropped.
struct Owner {
    memory: Range<u64>,
    context: Arc<Context>,
    _deleter: AllocationDeleter,
}

// SAFETY: the memory is there until the deleter is called, in the primary context of its device.
unsafe impl DeviceAllocation for Owner {
    fn device_ptr(&self) -> sys::CUdeviceptr {
        self.memory.start
    }

    fn len_bytes(&self) -> usize {
        (self.memory.end - self.memory.start) as usize
    }

    fn context(&self) -> Arc<Context> {
        self.context.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_of_axes_of_one_element() {
        let packed = |shape: &[i32], strides: &[i32]| {
            let mut strides = strides.to_vec();
            pack_ones(shape, &mut strides);
            strides
        };
        assert_eq!(packed(&[1, 5, 7], &[1, 7, 1]), [35, 7, 1]);
        assert_eq!(packed(&[5, 1], &[1, 9]), [1, 1]);
        assert_eq!(packed(&[3, 5], &[8, 1]), [8, 1]);
    }

    #[test]
    fn extents_and_strides_in_32_bits() {
        assert_eq!(small(&[3, 0]), Some(vec![3, 0]));
        assert_eq!((small(&[-1]), small(&[1 << 31])), (None, None));
    }
}
"""
