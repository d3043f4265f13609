// ferrotile: kernels.py::transpose
#[cutile::module]
mod layout {
    use cutile::core::*;

    #[cutile::entry()]
    fn transposed<const S: i32>(
        dst: &mut Tensor<f32, { [S, S] }>,
        src: &Tensor<f32, { [-1, -1] }>,
    ) {
        let (column, row) = (program_id(0), program_id(1));
        let tiles = src.partition_permuted(shape![S, S], const_array![1, 0]);
        dst.store(tiles.load([column, row]));
    }
}
