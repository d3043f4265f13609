// ferrotile: kernels.py::row_softmax

use cutile::prelude::*;

#[cutile::module]
mod softmax {
    use cutile::core::*;

    /// The lanes of a row that hold data; the others are -inf.
    fn only_data<const BLOCK: i32>(
        row: Tile<f32, { [1, BLOCK] }>,
        width: i32,
    ) -> Tile<f32, { [1, BLOCK] }> {
        let column: Tile<i32, { [BLOCK] }> = iota(shape![BLOCK]);
        let column = column.reshape(shape![1, BLOCK]);
        let nothing: Tile<f32, { [1, BLOCK] }> = constant(f32::NEG_INFINITY, shape![1, BLOCK]);
        select(
            ge_tile(column, width.broadcast(shape![1, BLOCK])),
            nothing,
            row,
        )
    }

    fn spread<const BLOCK: i32>(value: Tile<f32, { [1] }>) -> Tile<f32, { [1, BLOCK] }> {
        value.reshape(shape![1, 1]).broadcast(shape![1, BLOCK])
    }

    #[cutile::entry]
    fn softmax<const BLOCK: i32>(
        probabilities: &mut Tensor<f32, { [1, BLOCK] }>,
        logits: &Tensor<f32, { [-1, -1] }>,
    ) {
        let row = logits.load_like(probabilities);
        let row = only_data::<BLOCK>(row, logits.shape()[1]);
        let top: Tile<f32, { [1] }> = reduce_max(row, 1);
        let weight = exp(row - spread::<BLOCK>(top));
        let total: Tile<f32, { [1] }> = reduce_sum(weight, 1);
        probabilities.store(weight / spread::<BLOCK>(total));
    }
}

fn main() -> Result<(), Error> {
    let x = api::ones::<f32>(&[64, 1000]);
    let y = api::zeros::<f32>(&[64, 1000]).partition([1, 1024]);
    softmax::softmax(y, x).sync()?;
    Ok(())
}
