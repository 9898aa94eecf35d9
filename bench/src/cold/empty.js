// A process that does nothing: the baseline for cold imports.
