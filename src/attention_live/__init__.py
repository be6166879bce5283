"""The Transformer, built one notebook cell at a time: the core package behind the book *Attention, Live*."""
