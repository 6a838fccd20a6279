"""From a trained checkpoint to a signed bundle that the robot installs: converted, quantized, compared, packed."""
