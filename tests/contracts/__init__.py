"""What every implementation of a seam must do."""
