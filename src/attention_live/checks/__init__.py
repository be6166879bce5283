"""What marks the book's exercises: the engine, and one module of exercises a chapter."""
