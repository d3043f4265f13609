"""Writing a crate into a folder where people work: three-way merges, and a record of what was generated last."""
