// The imports of the minimal hand-written loop.
import "zod";
import "../minimal-loop.js";
