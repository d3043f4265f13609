// ferrotile: kernels.py::add_bias
#[cutile::module]
mod elementwise {
    use cutile::core::*;

    fn row_of<E: ElementType, const R: i32, const C: i32>(
        v: &Tensor<E, { [-1] }>,
        at: i32,
    ) -> Tile<E, { [R, C] }> {
        let v = v.partition(shape![C]).load([at]);
        v.reshape(shape![1, C]).broadcast(shape![R, C])
    }

    #[cutile::entry()]
    fn add_bias<E: ElementType, const R: i32, const C: i32>(
        bias: &Tensor<E, { [-1] }>,
        input: &Tensor<E, { [-1, -1] }>,
        output: &mut Tensor<E, { [R, C] }>,
    ) {
        let (i, j) = (program_id(0), program_id(1));
        let t = input.partition(shape![R, C]).load([i, j]);
        output.store(t + row_of::<E, R, C>(bias, j));
    }
}
