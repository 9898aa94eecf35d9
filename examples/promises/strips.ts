// The four promises of the README. Each is shown by a run, as a film strip.

import { alwaysEnds } from "./always-ends.ts";
import { goesOn } from "./goes-on.ts";
import { losesNothing } from "./loses-nothing.ts";
import { saysWhy } from "./says-why.ts";
import type { Strip } from "./strip.ts";

/** The program of each strip, by the name of its picture in docs/promises. */
export const strips: { readonly [name: string]: () => Promise<Strip> } = {
  "always-ends": alwaysEnds,
  "says-why": saysWhy,
  "loses-nothing": losesNothing,
  "goes-on": goesOn,
};
