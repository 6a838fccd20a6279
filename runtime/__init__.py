"""The daemon: what decides when to look, listen, remember and answer."""
