// ferrotile: kernels.py::momentum
#[cutile::module]
mod optimizer {
    use cutile::core::*;

    #[cutile::entry()]
    fn momentum<const B: i32>(
        w: &mut Tensor<f32, { [B] }>,
        v: &Tensor<f32, { [-1] }>,
        g: &Tensor<f32, { [-1] }>,
        mu: f32,
    ) {
        let velocity = v.load_like(w);
        let weight = g.load_like(w);
        w.store(weight - velocity);
    }
}
