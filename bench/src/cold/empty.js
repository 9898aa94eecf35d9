// A process that does nothing: what every cold import is measured against.
