// ferrotile: kernels.py::row_max
#[cutile::module]
mod reduce {
    use cutile::core::*;

    #[cutile::entry()]
    fn row_max<const ROWS: i32, const COLS: i32>(
        x: &Tensor<f32, { [-1, -1] }>,
        out: &mut Tensor<f32, { [ROWS] }>,
    ) {
        let tiles = x.partition(shape![ROWS, COLS]);
        let mut best: Tile<f32, { [ROWS] }> = constant(0.0, shape![ROWS]);
        for j in 0i32..num_tiles(&tiles, 1) {
            let tile = tiles.load([program_id(0), j]);
            let tile: Tile<f32, { [ROWS] }> = reduce_max(tile, 1);
            best = max_tile(best, tile);
        }
        out.store(best);
    }
}
