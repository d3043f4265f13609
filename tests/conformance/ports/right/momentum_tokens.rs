// ferrotile: kernels.py::momentum
#[cutile::module]
mod optimizer {
    use cutile::core::*;

    /// Reads this block's tile, and makes what follows on the tensor wait for it.
    fn take<const B: i32>(t: &mut Tensor<f32, { [B] }>) -> Tile<f32, { [B] }> {
        let tiles: Partition<f32, { [B] }> = unsafe {
            make_partition_view(t, shape![B], padding::None, dim_map::Identity, t.token())
        };
        let (tile, read): (Tile<f32, { [B] }>, Token) = unsafe {
            load_view_raw(
                &tiles,
                [program_id(0)],
                Some(t.token()),
                ordering::Weak,
                scope::TileBlock,
                tma::Disabled,
                None,
                [false],
                shape![B],
            )
        };
        unsafe { t.set_token(read) };
        tile
    }

    #[cutile::entry()]
    fn momentum<const B: i32>(
        mu: f32,
        v: &mut Tensor<f32, { [B] }>,
        w: &mut Tensor<f32, { [B] }>,
        g: &Tensor<f32, { [-1] }>,
    ) {
        let velocity = take(v);
        let weight = take(w);
        let gradient = g.load_like(v);
        v.store(fma(
            mu.broadcast(shape![B]),
            velocity,
            gradient,
            rounding::NearestEven,
            ftz::Disabled,
        ));
        w.store(weight - velocity);
    }
}
