"""A bench for identification outside the models of nacelle: plants in MuJoCo, faulty logs, a table."""
