import { isRecord } from "./guards.ts";

/**
 * True if Postgres has refused the data (SQLSTATE class 22), found a violated constraint (23), or refused the statement (42). It
 * would refuse another try too.
 */
export function isRefusedByPostgres(error: unknown): boolean {
  const code = isRecord(error) ? error["code"] : undefined;
  return typeof code === "string" && /^(22|23|42)[0-9A-Z]{3}$/.test(code);
}

/**
 * The statements that open a migration in Postgres. The lock holds until the transaction ends: two processes that create the schema
 * at the same time would fail.
 */
export const openSchema = `
  SELECT pg_advisory_xact_lock(7233410001);
  CREATE SCHEMA IF NOT EXISTS turnwright;`;
