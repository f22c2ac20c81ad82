// Command anymesh is the only program of Anymesh: control plane, pod agent, traffic capture, and tools for users.
package main

import "anymesh.dev/anymesh/program"

func main() { program.Main() }
