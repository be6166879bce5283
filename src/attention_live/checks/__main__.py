"""The teacher's command line: `python -m attention_live.checks grade FOLDER`."""

import sys

if __name__ == "__main__":
    from .grade import main

    sys.stdout.reconfigure(errors="replace")  # a terminal without ○ and ✓ shows question marks
    main()
