// ferrotile: kernels.py::saxpy
#[cutile::module]
mod blas1 {
    use cutile::core::*;

    #[cutile::entry()]
    fn saxpy<const B: i32>(
        out: &mut Tensor<f32, { [B] }>,
        x: &Tensor<f32, { [-1] }>,
        y: &Tensor<f32, { [-1] }>,
        a: f32,
    ) {
        let scaled = a.broadcast(shape![B]) * x.load_like(out);
        out.store(scaled + y.load_like(out));
    }
}
