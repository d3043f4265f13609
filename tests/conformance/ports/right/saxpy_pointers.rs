// ferrotile: kernels.py::saxpy
// ferrotile: map x.shape[0]=n
//
// The CUDA programmer's way: three pointers and a length, lanes beyond the end are masked.

#[cutile::module]
pub mod blas1 {
    use cutile::core::*;

    fn at<const B: i32>(p: *mut f32, lanes: Tile<i32, { [B] }>) -> PointerTile<*mut f32, { [B] }> {
        let base: PointerTile<*mut f32, { [] }> = pointer_to_tile(p);
        let base: PointerTile<*mut f32, { [1] }> = base.reshape(shape![1]);
        let base: PointerTile<*mut f32, { [B] }> = base.broadcast(shape![B]);
        let there: PointerTile<*mut f32, { [B] }> = base.offset_tile(lanes);
        there
    }

    fn fetch<const B: i32>(
        p: *mut f32,
        lanes: Tile<i32, { [B] }>,
        inside: Tile<bool, { [B] }>,
    ) -> Tile<f32, { [B] }> {
        let (t, _): (Tile<f32, { [B] }>, Token) = unsafe {
            load_ptr_tko(
                at::<B>(p, lanes),
                ordering::Weak,
                None::<scope::TileBlock>,
                Some(inside),
                Some(0.0f32),
                None,
                Latency::<0>,
            )
        };
        t
    }

    /// out = alpha * x + y
    #[cutile::entry()]
    pub unsafe fn saxpy<const B: i32>(n: i32, alpha: f32, x: *mut f32, y: *mut f32, out: *mut f32) {
        let lane: Tile<i32, { [B] }> = iota(shape![B]);
        let lane = (program_id(0) * B).broadcast(shape![B]) + lane;
        let inside = lt_tile(lane, n.broadcast(shape![B]));
        let sum = fma(
            alpha.broadcast(shape![B]),
            fetch::<B>(x, lane, inside),
            fetch::<B>(y, lane, inside),
            rounding::NearestEven,
            ftz::Disabled,
        );
        unsafe {
            store_ptr_tko(
                at::<B>(out, lane),
                sum,
                ordering::Weak,
                None::<scope::TileBlock>,
                Some(inside),
                None,
                Latency::<0>,
            )
        };
    }
}
