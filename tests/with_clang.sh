#!/bin/sh
# sh with_clang.sh CLANGXX COMPILER ARGUMENTS...: runs CLANGXX in place of COMPILER, without what only g++ knows. CMake puts
# this before the command of a source (CXX_COMPILER_LAUNCHER).
set -eu
clang=$1
shift 2
for argument; do
    shift
    case $argument in
    --param=ggc-* | -fexpensive-optimizations) ;;
    *) set -- "$@" "$argument" ;;
    esac
done
exec "$clang" "$@"
