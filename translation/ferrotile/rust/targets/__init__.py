"""What each version of the `cutile` crate can say, and measured policies for each GPU."""
