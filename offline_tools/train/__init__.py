"""Training on a workstation: the data, the environment, the reward and the recipe; the trainers are the libraries'."""
