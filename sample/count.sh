#!/bin/sh
# Prints a line every half second: something to watch, cancel or time out.
i=1
while [ "$i" -le "${1:-20}" ]; do
  echo "line $i"
  if [ $((i % 3)) -eq 0 ]; then echo "warning: $i is a multiple of 3" >&2; fi
  i=$((i + 1))
  sleep 0.5
done
