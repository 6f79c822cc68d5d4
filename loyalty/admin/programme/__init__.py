"""The pages of the programme's figures and books."""
