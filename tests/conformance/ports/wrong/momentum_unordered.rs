// ferrotile: kernels.py::momentum
#[cutile::module]
mod optimizer {
    use cutile::core::*;

    #[cutile::entry()]
    fn momentum<const B: i32>(
        w: &mut Tensor<f32, { [B] }>,
        v: &mut Tensor<f32, { [B] }>,
        g: &Tensor<f32, { [-1] }>,
        mu: f32,
    ) {
        let velocity = v.load();
        let weight = w.load();
        let gradient = g.load_like(v);
        v.store(fma(
            mu.broadcast(shape![B]),
            velocity,
            gradient,
            rounding::NearestEven,
            ftz::Disabled,
        ));
        w.store(weight - velocity);
    }
}
