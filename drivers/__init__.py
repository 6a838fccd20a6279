"""Hardware and recordings as frames and audio blocks; knows no model."""
