"""Kinds of entries in a node's saved values: the constants that the table, the nodes and the generator share."""

ATTRIBUTE, INPUT, OUTPUT = range(3)
