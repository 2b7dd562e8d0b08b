"""Workers: tasks out to processes, answers back."""
