"""`python -m edgemem`: the command line, where the script `edgemem` is not on the path."""

from edgemem.cli.main import program

if __name__ == "__main__":
    program()
