"""The portal's message catalogues: what bin/messages and the tests of the catalogues share."""
