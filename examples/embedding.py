"""Embedding lookup: row `ids[r]` of a table. The row index is data, so the load goes through a gather."""

import cuda.tile as ct


@ct.kernel
def embedding(table, ids, out, TD: ct.Constant[int]):
    r, j = ct.bid(0), ct.bid(1)
    row = ct.gather(ids, r)
    # Out-of-range rows and columns give zeros.
    t = ct.gather(table, (row, j * TD + ct.arange(TD, dtype=ct.int32)))
    ct.store(out, index=(r, j), tile=t.reshape((1, TD)))


if __name__ == "__main__":
    import torch

    vocabulary, width, rows = 32_000, 1000, 512
    table = torch.randn(vocabulary, width, device="cuda")
    ids = torch.randint(vocabulary, (rows,), dtype=torch.int32, device="cuda")
    out = torch.empty(rows, width, device="cuda")
    grid = (rows, ct.cdiv(width, 256))
    ct.launch(torch.cuda.current_stream(), grid, embedding, (table, ids, out, 256))
    torch.testing.assert_close(out, table[ids.long()], rtol=0, atol=0)
