// ferrotile: kernels.py::matmul
#[cutile::module]
mod gemm {
    use cutile::core::*;

    #[cutile::entry()]
    fn gemm<const BM: i32, const BN: i32, const BK: i32>(
        c: &mut Tensor<f16, { [BM, BN] }>,
        a: &Tensor<f16, { [-1, -1] }>,
        b: &Tensor<f16, { [-1, -1] }>,
    ) {
        let (i, j) = (program_id(0), program_id(1));
        let pa = a.partition(shape![BM, BK]);
        let pb = b.partition(shape![BK, BN]);
        let mut acc: Tile<f16, { [BM, BN] }> = constant(f16::ZERO, shape![BM, BN]);
        for k in 0..num_tiles(&pa, 1) {
            acc = mma(pa.load([i, k]), pb.load([k, j]), acc);
        }
        c.store(acc);
    }
}
