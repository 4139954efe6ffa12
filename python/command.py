#!python
"""The command `ease` of `pip install`: starts the program that the package contains.

The package is found, but not imported: the program needs neither Python nor NumPy.
"""
import importlib.util
import os
import sys

package = importlib.util.find_spec("ease")
for directory in package.submodule_search_locations or () if package else ():
    program = os.path.join(directory, "bin", "ease")
    if os.path.exists(program):
        os.execv(program, sys.argv)
sys.exit("ease: the program is not in the Python package 'ease'; "
         "pip install --force-reinstall easerec installs both")
