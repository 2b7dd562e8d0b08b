"""How the embedded commonsense classifier was made: footage, renders, defects, and the fit of its head."""
