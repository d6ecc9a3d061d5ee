"""The shipping protocol in a simulated world: one seed decides everything, and every invariant is checked."""
