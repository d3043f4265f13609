"""`launch.rs`: the checks of every launch, and how a kernel gets a tensor that it writes. Only what is used."""

from __future__ import annotations

from collections.abc import Collection

from ferrotile.crate.launch_tensors import FLOAT, MERGED, WRITTEN

_HEAD = """\
//! What every launch checks first, and how kernels get the tensors that they write.
"""

_BASE = """
/// The longest extent: kernels round extents up to whole tiles, in 32 bits.
const LONGEST: i64 = 1 << 30;

/// The checks of one kernel's launch; errors name the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch(pub(crate) &'static str);

impl Launch {
    fn error(self, message: &str) -> Error {
        Error::KernelLaunch(KernelLaunchError(format!("{}: {message}", self.0)))
    }

    /// The extents of a tensor that a kernel can be given.
    pub(crate) fn tensor<T: DType, const RANK: usize>(
        self,
        name: &str,
        tensor: &Tensor<T>,
    ) -> Result<[i64; RANK], Error> {
        self.layout(name, tensor.shape(), tensor.strides())
    }

    fn layout<const RANK: usize>(
        self,
        name: &str,
        shape: &[i32],
        strides: &[i32],
    ) -> Result<[i64; RANK], Error> {
        let Ok(extents) = <[i32; RANK]>::try_from(shape) else {
            let rank = shape.len();
            return Err(self.error(&format!("`{name}` has {rank} axes, not {RANK}")));
        };
        let extents = extents.map(i64::from);
        if extents.iter().any(|n| !(1..=LONGEST).contains(n)) {
            let message = format!("`{name}` has the extents {shape:?}, not from 1 to {LONGEST}");
            return Err(self.error(&message));
        }
        let elements = extents.iter().fold(1, |all: i64, &n| all.saturating_mul(n));
        if elements > i64::from(i32::MAX) {
            let message = format!("`{name}` has {elements} elements, more than 32 bits count");
            return Err(self.error(&message));
        }
        if strides.last() != Some(&1) || strides.iter().any(|&s| s < 0) {
            let message = format!("`{name}` has the strides {strides:?}: the last must be 1");
            return Err(self.error(&message));
        }
        // cutile 0.5 takes the divisibility of one stride for another's where a unit stride is in front.
        if strides.iter().skip_while(|&&s| s != 1).any(|&s| s != 1) {
            let message = format!("`{name}` has the strides {strides:?}: 1 must come last");
            return Err(self.error(&message));
        }
        Ok(extents)
    }
"""

_METHODS = {
    "same": """
    /// Two numbers of a launch that have to be equal.
    pub(crate) fn same(self, left: &str, a: i64, right: &str, b: i64) -> Result<(), Error> {
        if a == b {
            return Ok(());
        }
        Err(self.error(&format!("{left} is {a}, but {right} is {b}")))
    }
""",
    "fixed": """
    /// A number that has to be this one.
    pub(crate) fn fixed(self, name: &str, value: i64, wanted: i64) -> Result<(), Error> {
        if value == wanted {
            return Ok(());
        }
        Err(self.error(&format!("{name} is {value}, but must be {wanted}")))
    }
""",
    "multiple": """
    /// An extent that has to be a multiple of a number.
    pub(crate) fn multiple(self, name: &str, extent: i64, of: i64) -> Result<(), Error> {
        if extent % of == 0 {
            return Ok(());
        }
        Err(self.error(&format!("{name} is {extent}, not a multiple of {of}")))
    }
""",
    "inside": """
    /// Tile indices up to a number, along an axis of so many tiles.
    pub(crate) fn inside(
        self,
        name: &str,
        axis: usize,
        below: i64,
        tiles: i64,
    ) -> Result<(), Error> {
        if below <= tiles {
            return Ok(());
        }
        let message = format!("`{name}` has {tiles} tiles along axis {axis}, but {below} are used");
        Err(self.error(&message))
    }
""",
    "positive": """
    /// A constant that counts something.
    pub(crate) fn positive(self, name: &str, value: i64) -> Result<(), Error> {
        if value > 0 {
            return Ok(());
        }
        Err(self.error(&format!("`{name}` is {value}, not at least 1")))
    }
""",
    "contiguous": """
    /// A tensor whose rows follow each other without gaps.
    pub(crate) fn contiguous<T: DType>(self, name: &str, tensor: &Tensor<T>) -> Result<(), Error> {
        if tensor.is_contiguous() {
            return Ok(());
        }
        Err(self.error(&format!("`{name}` is not contiguous")))
    }
""",
    "distinct": """
    /// A tensor whose elements are all at places of their own, so that blocks can write them.
    pub(crate) fn distinct<T: DType>(self, name: &str, tensor: &Tensor<T>) -> Result<(), Error> {
        if distinct(tensor.shape(), tensor.strides()) {
            return Ok(());
        }
        Err(self.error(&format!("`{name}` is written, but its elements overlap")))
    }
""",
    "blocks": """
    /// The number of blocks that take the tiles of a tensor in turns.
    pub(crate) fn blocks(self, name: &str, blocks: i64) -> Result<(), Error> {
        if (1..=i64::from(i32::MAX)).contains(&blocks) {
            return Ok(());
        }
        Err(self.error(&format!("`{name}` would be written by {blocks} blocks")))
    }
""",
    "grid": """
    /// The numbers of blocks along the axes of a grid.
    pub(crate) fn grid(self, blocks: [i64; 3]) -> Result<(u32, u32, u32), Error> {
        let [x, y, z] = blocks;
        let most = i64::from(i32::MAX);
        let fits = |n: i64, most: i64| (1..=most).contains(&n);
        if !fits(x, most) || !fits(y, 65535) || !fits(z, 65535) {
            return Err(self.error(&format!("there is no grid of {blocks:?} blocks")));
        }
        Ok((x as u32, y as u32, z as u32))
    }
""",
}

_DISTINCT = """
/// Whether no two elements of such a layout are at one place: each axis steps over all that is within.
fn distinct(shape: &[i32], strides: &[i32]) -> bool {
    let pairs = shape.iter().zip(strides);
    let mut axes: Vec<(i64, i64)> = pairs.map(|(&n, &s)| (s.into(), n.into())).collect();
    axes.retain(|&(_, extent)| extent > 1);
    axes.sort_unstable();
    let mut reach = 1;
    axes.iter().all(|&(stride, extent)| {
        let apart = stride >= reach;
        reach = stride * extent;
        apart
    })
}
"""

_TILES = """
/// How many tiles cover an extent.
pub(crate) fn tiles(extent: i64, tile: i64) -> i64 {
    (extent + tile - 1) / tile
}
"""

_TESTS = """
#[cfg(test)]
mod tests {
    use super::*;

    fn refused<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn layouts() {
        let launch = Launch("k");
        assert_eq!(launch.layout("x", &[3, 5], &[8, 1]).unwrap(), [3, 5]);
        let two_axes = refused(launch.layout::<1>("x", &[3, 5], &[5, 1]));
        assert!(two_axes.contains("`x` has 2 axes, not 1"));
        assert!(refused(launch.layout::<2>("x", &[3, 5], &[1, 3])).contains("the last must be 1"));
        assert!(refused(launch.layout::<1>("x", &[0], &[1])).contains("extents [0]"));
        let before = refused(launch.layout::<3>("x", &[1, 5, 7], &[1, 7, 1]));
        assert!(before.contains("1 must come last"));
        let many = launch.layout::<2>("x", &[1 << 20, 1 << 20], &[1 << 20, 1]);
        assert!(refused(many).contains("more than 32 bits count"));
    }
"""

_TESTS_OF = {
    "same": """
    #[test]
    fn equal_extents() {
        assert!(Launch("k").same("x.shape[0]", 3, "y.shape[0]", 3).is_ok());
        let message = refused(Launch("k").same("x.shape[0]", 3, "y.shape[0]", 4));
        assert_eq!(message, "error: k: x.shape[0] is 3, but y.shape[0] is 4");
    }
""",
    "tiles": """
    #[test]
    fn whole_tiles() {
        assert_eq!([tiles(1, 8), tiles(8, 8), tiles(9, 8)], [1, 1, 2]);
    }
""",
    "distinct": """
    #[test]
    fn overlaps() {
        assert!(distinct(&[3, 5], &[5, 1]) && distinct(&[3, 5], &[8, 1]));
        assert!(distinct(&[1, 5], &[0, 1]));
        assert!(!distinct(&[3, 5], &[4, 1]) && !distinct(&[3, 5], &[0, 1]));
    }
""",
    "grid": """
    #[test]
    fn grids() {
        assert_eq!(Launch("k").grid([70000, 2, 3]).unwrap(), (70000, 2, 3));
        assert!(Launch("k").grid([1, 65536, 1]).is_err() && Launch("k").grid([0, 1, 1]).is_err());
    }
""",
}


def launch_module(uses: Collection[str]) -> str:
    """The text of `launch.rs` for the methods and types that the host functions use."""
    imports = ["use cutile::error::KernelLaunchError;", "use cutile::prelude::*;"]
    if "Written" in uses or "Merged" in uses:
        imports += ["use cutile::cuda_async::error::DeviceError;"]
        imports += ["use cutile::cuda_async::launch::AsyncKernelLaunchBuilder;"]
    if "Merged" in uses:
        imports += ["use cutile::tensor::compute_spec;"]
    if "Float" in uses:
        imports += ["use cutile::cuda_core::DeviceCopy;", "use cutile::half::{bf16, f16};"]
    body = [_HEAD, "\n", "\n".join(sorted(imports)), "\n", _BASE]
    body += [text for name, text in _METHODS.items() if name in uses]
    body.append("}\n")
    body += [_DISTINCT] if "distinct" in uses else []
    body += [_TILES] if "tiles" in uses else []
    body += [text for name, text in (("Written", WRITTEN), ("Merged", MERGED), ("Float", FLOAT)) if name in uses]
    body += [_TESTS, *(text for name, text in _TESTS_OF.items() if name in uses), "}\n"]
    return "".join(body)
