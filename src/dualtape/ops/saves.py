"""What a place in a node's saved values holds: the words that the table, the nodes and the generator share."""

ATTRIBUTE, INPUT, OUTPUT = range(3)
