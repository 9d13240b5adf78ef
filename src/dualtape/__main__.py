"""`python -m dualtape` is the `dualtape` command."""

import sys

from dualtape.cli import main

if __name__ == "__main__":
    sys.exit(main())
