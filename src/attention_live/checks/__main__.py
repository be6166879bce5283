"""The teacher's command line: `python -m attention_live.checks grade FOLDER`."""

if __name__ == "__main__":
    from .grade import main

    main()
