"""Host code read abstractly, never run, up to each launch of a kernel."""
