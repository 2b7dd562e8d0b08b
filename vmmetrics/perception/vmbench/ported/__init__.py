"""Networks of published models, written anew, that load the published weights."""
