// ferrotile: kernels.py::transpose
#[cutile::module]
mod layout {
    use cutile::core::*;

    #[cutile::entry()]
    fn transposed<const S: i32>(y: &mut Tensor<f32, { [S, S] }>, x: &Tensor<f32, { [-1, -1] }>) {
        let (column, row) = (program_id(0), program_id(1));
        y.store(x.partition(shape![S, S]).load([row, column]));
    }
}
