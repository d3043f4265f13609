"""Programs that run as subprocesses. They import nothing of ferrotile, so that `python -I` can start them by
path."""
