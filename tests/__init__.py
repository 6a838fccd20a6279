"""The test suite: the real middle, fakes only at the edge."""
