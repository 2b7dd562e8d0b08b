"""An alignment report as text, tables, pictures and one page."""
