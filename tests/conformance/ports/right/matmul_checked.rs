// ferrotile: kernels.py::matmul
#[cutile::module]
mod gemm {
    use cutile::core::*;

    // `c` is shared by all blocks; the store checks its index.
    #[cutile::entry(optimization_hints = (sm_90 = (occupancy = 2,),))]
    fn gemm<const BM: i32, const BN: i32, const BK: i32>(
        a: &Tensor<f16, { [-1, -1] }>,
        b: &Tensor<f16, { [-1, -1] }>,
        c: &Tensor<f16, { [-1, -1] }>,
    ) {
        let here = get_tile_block_id();
        let a_tiles = a.partition(shape![BM, BK]);
        let b_tiles = b.partition(shape![BK, BN]);
        let mut acc: Tile<f32, { [BM, BN] }> = constant(0.0, shape![BM, BN]);
        let mut k = 0i32;
        while k < ceil_div(a.shape()[1], BK) {
            acc = mma(a_tiles.load([here.0, k]), b_tiles.load([k, here.1]), acc);
            k = k + 1;
        }
        let half: Tile<f16, { [BM, BN] }> = convert_tile(acc);
        let mut c_tiles = unsafe { c.partition_full_mut(shape![BM, BN]) };
        c_tiles.store(half, [here.0, here.1]);
    }
}
