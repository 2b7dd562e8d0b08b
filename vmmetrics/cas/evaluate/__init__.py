"""How a commonsense classifier does on labelled clips."""
