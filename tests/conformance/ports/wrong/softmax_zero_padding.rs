// ferrotile: kernels.py::row_softmax
#[cutile::module]
mod softmax {
    use cutile::core::*;

    fn spread<const B: i32>(value: Tile<f32, { [1] }>) -> Tile<f32, { [1, B] }> {
        value.reshape(shape![1, 1]).broadcast(shape![1, B])
    }

    #[cutile::entry()]
    fn softmax<const B: i32>(y: &mut Tensor<f32, { [1, B] }>, x: &Tensor<f32, { [-1, -1] }>) {
        let row = x.load_like(y);
        let top: Tile<f32, { [1] }> = reduce_max(row, 1);
        let weight = exp(row - spread::<B>(top));
        let total: Tile<f32, { [1] }> = reduce_sum(weight, 1);
        y.store(weight / spread::<B>(total));
    }
}
