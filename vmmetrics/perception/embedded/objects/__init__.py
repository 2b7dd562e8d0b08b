"""Moving objects: segments, their identities, appearances and disappearances."""
