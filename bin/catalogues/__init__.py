"""The portal's message catalogues: code shared by bin/messages and the tests of the catalogues."""
