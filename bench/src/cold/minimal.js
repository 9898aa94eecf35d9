import "zod";
import "../minimal-loop.js";
