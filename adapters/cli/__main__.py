"""`python -m locum.adapters.cli`: the same as `locum`."""

from . import main

if __name__ == "__main__":
    main()
