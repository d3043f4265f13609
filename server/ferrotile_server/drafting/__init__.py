"""AI drafts of what the rules refuse: a model proposes Rust, the ladder decides. See docs/drafting.md."""
