// ferrotile: kernels.py::divide_rows
#[cutile::module]
mod rows {
    use cutile::core::*;

    #[cutile::entry()]
    fn divide_rows<const B: i32>(
        y: &mut Tensor<f32, { [1, B] }>,
        x: &Tensor<f32, { [-1, -1] }>,
        scale: &Tensor<f32, { [-1] }>,
    ) {
        let s = scale.partition(shape![1]).load([program_id(0)]);
        let s = s.reshape(shape![1, 1]).broadcast(shape![1, B]);
        y.store(true_div(x.load_like(y), s));
    }
}
