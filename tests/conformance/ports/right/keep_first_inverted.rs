// ferrotile: kernels.py::keep_first
#[cutile::module]
mod masks {
    use cutile::core::*;

    fn lane_numbers<const B: i32>() -> Tile<i32, { [B] }> {
        let lane: Tile<i32, { [B] }> = iota(shape![B]);
        lane + (program_id(0) * B).broadcast(shape![B])
    }

    #[cutile::entry()]
    fn keep_first<const B: i32>(
        count: i32,
        y: &mut Tensor<f32, { [B] }>,
        x: &Tensor<f32, { [-1] }>,
    ) {
        let dropped = ge_tile(lane_numbers::<B>(), count.broadcast(shape![B]));
        let zero: Tile<f32, { [B] }> = constant(0.0, shape![B]);
        let kept = select(dropped, zero, x.load_tile(shape![B], [program_id(0)]));
        y.store(kept);
    }
}
