"""Arrays that write down what is computed with them, while it is computed."""
