"""Programs that run as subprocesses. They import nothing of ferrotile, so that `python -I` can start them by
path; the simulator alone is told where ferrotile is."""
