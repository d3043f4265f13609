"""What people talk to: the language server, the command line and the application core both share."""
