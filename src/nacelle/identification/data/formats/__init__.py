"""Files of measured data: a module a format, each giving a `Recording`."""
