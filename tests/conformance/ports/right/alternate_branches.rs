// ferrotile: kernels.py::alternate
#[cutile::module]
mod buffers {
    use cutile::core::*;

    #[cutile::entry()]
    fn alternate<const B: i32>(
        out: &mut Tensor<f32, { [B] }>,
        even: &Tensor<f32, { [-1] }>,
        odd: &Tensor<f32, { [-1] }>,
        step: i32,
    ) {
        let mut t = even.load_like(out);
        if step % 2 != 0 {
            t = odd.load_like(out);
        }
        let half: Tile<f32, { [B] }> = constant(0.5, shape![B]);
        out.store(t * half);
    }
}
