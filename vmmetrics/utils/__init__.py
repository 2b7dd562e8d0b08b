"""What every part may use: text made safe, strict reading, requests with a deadline. Knows nothing of motion."""
