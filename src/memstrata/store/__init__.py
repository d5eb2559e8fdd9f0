"""Where memory is kept: operations written once, over backends that only speak SQL."""
