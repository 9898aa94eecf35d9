// The entry `turnwright/dbos`: runs that survive their worker, on DBOS and Postgres.

export { dbosJournal } from "./dbos-journal.ts";
