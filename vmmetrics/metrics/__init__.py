"""The five metrics as the suite sees them: what perception each needs, and the call into functional."""
