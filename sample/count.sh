#!/bin/sh
# Prints a line every half second: something to watch or to cancel.
i=1
while [ "$i" -le "${1:-20}" ]; do
  echo "line $i"
  [ $((i % 3)) -eq 0 ] && echo "warning: $i is a multiple of 3" >&2
  i=$((i + 1))
  sleep 0.5
done
