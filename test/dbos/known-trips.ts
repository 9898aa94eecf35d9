// The durable loop of trips.ts, for test files that start its runs but leave them to workers in other processes. Test files may share a
// process, in which a loop's name must be unique.

import type { DurableLoop } from "turnwright/dbos";
import { defineTrips, type Trip } from "./trips.ts";

export const trips: DurableLoop<Trip> = defineTrips("");
