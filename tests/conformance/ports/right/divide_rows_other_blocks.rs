// ferrotile: kernels.py::divide_rows
// Tiles of 4 x 64, other blocks than the Python's: the launch as a whole does the same.
#[cutile::module]
mod rows {
    use cutile::core::*;

    #[cutile::entry()]
    fn divide_rows(
        x: &Tensor<f32, { [-1, -1] }>,
        scale: &Tensor<f32, { [-1] }>,
        y: &mut Tensor<f32, { [4, 64] }>,
    ) {
        let (i, j) = (program_id(0), program_id(1));
        let s = scale.partition(shape![4]).load([i]);
        let s = s.reshape(shape![4, 1]).broadcast(shape![4, 64]);
        let t = x.partition(shape![4, 64]).load([i, j]);
        y.store(t / s);
    }
}
