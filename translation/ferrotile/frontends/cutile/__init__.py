"""The cuTile Python front end (`cuda.tile` 1.7)."""
