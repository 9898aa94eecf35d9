// The baseline of the import benchmark: a program that does nothing.
