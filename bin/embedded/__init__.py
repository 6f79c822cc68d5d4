"""The embedded servers of bin/run and bin/test; needs nothing but the standard library and the servers' wheels."""
