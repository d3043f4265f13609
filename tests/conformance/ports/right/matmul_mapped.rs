// ferrotile: kernels.py::matmul
// ferrotile: grid M/64 * N/64
// Persistent: each block walks over its share of the tiles of `c`.
#[cutile::module]
mod gemm {
    use cutile::core::*;

    #[cutile::entry()]
    fn gemm<const BM: i32, const BN: i32, const BK: i32>(
        mut c: MappedPartitionMut<f16, { [BM, BN] }, { [1, 1] }>,
        a: &Tensor<f16, { [-1, -1] }>,
        b: &Tensor<f16, { [-1, -1] }>,
    ) {
        let left = a.partition(shape![BM, BK]);
        let right = b.partition(shape![BK, BN]);
        for tile in c.iter_indices() {
            let (row, column) = tile.components();
            let mut sum: Tile<f32, { [BM, BN] }> = constant(0.0, shape![BM, BN]);
            for k in 0..num_tiles(&left, 1) {
                sum = mma(left.load([row, k]), right.load([k, column]), sum);
            }
            let sum: Tile<f16, { [BM, BN] }> = convert_tile(sum);
            c.store(sum, tile);
        }
    }
}
