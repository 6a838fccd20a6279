"""Training data of the memory model from recordings: episodic lines, who is whose voice, semantic lines."""
