"""The state of one pipeline that its parts share: constants, effects to be performed, letters, calls, failures."""
