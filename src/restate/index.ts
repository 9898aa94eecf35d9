// The entry `turnwright/restate`: runs that survive their worker, on a Restate server.

export { restateJournal } from "./restate-journal.ts";
