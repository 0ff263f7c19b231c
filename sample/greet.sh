# Source this file: the function stays in the shell.
greet() {
  echo "Hello, ${1:-world}, from $PWD"
}
