// What the minimal hand-written loop imports.
import "zod";
import "../minimal-loop.js";
