"""The embedded servers of bin/run and bin/test; needs only the standard library and the servers' wheels."""
