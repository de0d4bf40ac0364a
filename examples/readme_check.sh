#!/bin/sh
# The first C++ block of the README is examples/hello.cpp, to the letter. Prints the difference if it is not.
set -eu
cd "$(dirname "$0")/.."

awk '/^```cpp$/ { inside = 1; next } inside && /^```$/ { exit } inside' README.md | diff - examples/hello.cpp
