"""Types of `launch.rs`: tensors that kernels write, and the element types of generic kernels."""

from __future__ import annotations

WRITTEN = """
/// A tensor that a kernel writes through `&Tensor`: an input to the launcher, of which the kernel has sole use.
pub(crate) struct Written<'a, T: DType> {
    pointer: u64,
    shape: Vec<i32>,
    strides: Vec<i32>,
    spec: SpecializationBits,
    tensor: Partition<&'a mut Tensor<T>>,
}

impl<'a, T: DType> Written<'a, T> {
    /// # Panics
    ///
    /// Where another tensor shares the storage, as `partition` does.
    pub(crate) fn new(tensor: &'a mut Tensor<T>) -> Self {
        Self {
            pointer: tensor.device_pointer().cu_deviceptr(),
            shape: tensor.shape().to_vec(),
            strides: tensor.strides().to_vec(),
            spec: tensor.spec().clone(),
            tensor: tensor.partition([1]),
        }
    }
}

// SAFETY: all that is said of the tensor is its own; `retain` asks for exclusive access, as for an output.
unsafe impl<T: DType> KernelInputStored for Written<'_, T> {
    fn retain(&self, context: &ExecutionContext) -> Result<(), DeviceError> {
        KernelOutputStored::retain(&self.tensor, context)
    }

    fn push_kernel_args(&self, launcher: &mut AsyncKernelLaunchBuilder) {
        // SAFETY: the address of the tensor's storage, which `retain` keeps alive.
        unsafe { launcher.push_device_ptr(self.pointer) };
        for word in self.shape.iter().chain(&self.strides) {
            launcher.push_arg(*word);
        }
    }

    fn shape(&self) -> &[i32] {
        &self.shape
    }

    fn strides(&self) -> &[i32] {
        &self.strides
    }

    fn spec(&self) -> &SpecializationBits {
        &self.spec
    }

    fn dtype_str(&self) -> &'static str {
        T::DTYPE.as_str()
    }
}

impl<T: DType> KernelInput<T> for Written<'_, T> {
    type Stored = Self;
    type Returned = ();

    fn prepare(self) -> Self {
        self
    }

    fn recover(_: Self) {}
}

impl<T: DType> IntoDeviceOp<Self> for Written<'_, T> {
    type Op = Value<Self>;

    fn into_op(self) -> Value<Self> {
        value(self)
    }
}
"""

MERGED = """
/// A contiguous tensor that a kernel writes with its leading axes as one.
pub(crate) struct Merged<'a, T: DType> {
    pointer: u64,
    shape: Vec<i32>,
    strides: Vec<i32>,
    spec: SpecializationBits,
    tile: Vec<usize>,
    tensor: Partition<&'a mut Tensor<T>>,
}

impl<'a, T: DType> Merged<'a, T> {
    /// # Panics
    ///
    /// Where another tensor shares the storage, as `partition` does.
    pub(crate) fn new<const RANK: usize>(tensor: &'a mut Tensor<T>, tile: [usize; RANK]) -> Self {
        let merged = tensor.shape().len() - RANK;
        let strides = tensor.strides()[merged..].to_vec();
        let mut shape = tensor.shape()[merged..].to_vec();
        shape[0] *= tensor.shape()[..merged].iter().product::<i32>();
        let pointer = tensor.device_pointer().cu_deviceptr();
        Self {
            pointer,
            spec: compute_spec(pointer, &shape, &strides, size_of::<T>() as i32),
            shape,
            strides,
            tile: tile.to_vec(),
            tensor: tensor.partition([1]),
        }
    }

    fn tile(&self) -> Vec<i32> {
        self.tile.iter().map(|&n| n as i32).collect()
    }
}

// SAFETY: a contiguous tensor has these elements with its leading axes as one; `retain` is the tensor's own.
unsafe impl<T: DType> KernelOutputStored<T> for Merged<'_, T> {
    fn retain(&self, context: &ExecutionContext) -> Result<(), DeviceError> {
        KernelOutputStored::retain(&self.tensor, context)
    }

    fn push_kernel_args(&self, launcher: &mut AsyncKernelLaunchBuilder) {
        // SAFETY: the address of the tensor's storage, which `retain` keeps alive.
        unsafe { launcher.push_device_ptr(self.pointer) };
        let tile = self.tile();
        let words = self.shape.iter().chain(&self.strides);
        for word in words.chain(&tile).chain(&self.strides) {
            launcher.push_arg(*word);
        }
    }

    fn grid(&self) -> Result<(u32, u32, u32), Error> {
        let blocks = |axis: usize| match (self.shape.get(axis), self.tile.get(axis)) {
            (Some(&extent), Some(&tile)) => (extent as u32).div_ceil(tile as u32),
            _ => 1,
        };
        Ok((blocks(0), blocks(1), blocks(2)))
    }

    fn dtype_str(&self) -> &'static str {
        T::DTYPE.as_str()
    }

    fn partition_shape_as_i32(&self) -> Vec<i32> {
        self.tile()
    }

    fn partition_shape(&self) -> &[usize] {
        &self.tile
    }

    fn strides_hint(&self) -> Vec<i32> {
        let ones = self.spec.stride_one.iter();
        ones.map(|&one| if one { 1 } else { -1 }).collect()
    }

    fn spec(&self) -> &SpecializationBits {
        &self.spec
    }

    fn shape_as_i32(&self) -> Vec<i32> {
        self.shape.clone()
    }
}

impl<T: DType> KernelOutput<T> for Merged<'_, T> {
    type Stored = Self;
    type Returned = ();

    fn prepare(self) -> Self {
        self
    }

    fn recover(_: Self) {}
}

impl<T: DType> IntoDeviceOp<Self> for Merged<'_, T> {
    type Op = Value<Self>;

    fn into_op(self) -> Value<Self> {
        value(self)
    }
}
"""

FLOAT = """
/// The element types that generic kernels take.
pub trait Float: DType + DeviceCopy {}

impl Float for f16 {}
impl Float for bf16 {}
impl Float for f32 {}
"""
