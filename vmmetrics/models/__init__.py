"""Video language models behind one protocol: frames and questions in, replies out."""
