"""Inference: arrays in, arrays or records out; knows no device and no database."""
