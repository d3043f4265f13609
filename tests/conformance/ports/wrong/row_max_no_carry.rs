// ferrotile: kernels.py::row_max
#[cutile::module]
mod reduce {
    use cutile::core::*;

    #[cutile::entry()]
    fn row_max<const ROWS: i32, const COLS: i32>(
        out: &mut Tensor<f32, { [ROWS] }>,
        x: &Tensor<f32, { [-1, -1] }>,
    ) {
        let tiles = x.partition(shape![ROWS, COLS]);
        let start: Tile<f32, { [ROWS] }> = constant(0.0, shape![ROWS]);
        let mut best: Tile<f32, { [ROWS] }> = constant(0.0, shape![ROWS]);
        for j in 0i32..num_tiles(&tiles, 1) {
            let tile: Tile<f32, { [ROWS] }> = reduce_max(tiles.load([program_id(0), j]), 1);
            best = max_tile(start, tile);
        }
        out.store(best);
    }
}
