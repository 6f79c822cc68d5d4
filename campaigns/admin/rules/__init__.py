"""The portal's pages about earning rules: the builder with its test bench, the states, and spreadsheets."""
